"""Reading a page the way a browser does: its tags, its words, and the data that its script reads."""

import json
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "link"}


class Page(HTMLParser):
    """A parsed page; raises where its tags do not match."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []
        self.words, self.scripts, self.ids = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            attributes, text = self.scripts.pop()
            self.scripts.append((attributes, text + data))
        elif inside != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def data(self):
        (found,) = [text for attributes, text in self.scripts if attributes.get("id") == "copa-data"]
        return json.loads(found)

    def figures(self):
        """Keys of the figures, and the text alternative of each."""
        return [value for name, value in self.attributes if name == "data-figure"]
