"""YAML without what makes a few lines stand for a large tree: no anchors, aliases or merge keys; not deep, not long."""

from typing import Any

import yaml

from copa.exceptions import InvalidInputError
from copa.schema.names import shown

LONGEST = 1_000_000  # characters of a file
LONGEST_SCALAR = 4_000  # characters of a text or number; a number of many digits takes their square in time
MOST_ENTRIES = 50_000  # texts, numbers, lists and mappings; as many take a second or two
DEEPEST = 20  # levels of lists and mappings; a schema has four
MERGE = "tag:yaml.org,2002:merge"

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the compiled one, where there is one


def parse_yaml(text: str) -> Any:
    """Return what YAML holds, as plain data.

    Raises
    ------
    InvalidInputError
        If it is not YAML, has an entry twice, or has parts of YAML that are not supported here.
    """
    if len(text) > LONGEST:
        raise InvalidInputError(f"it has {len(text):,} characters, and at most {LONGEST:,} of YAML are read; use JSON")
    try:
        _require_plain(text)
        loader = Loader(text)
        try:
            root = loader.get_single_node()
            _require_unique_keys(root)
            return None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except InvalidInputError:
        raise
    except (yaml.YAMLError, ValueError) as error:  # a date such as 2001-99-99 is a ValueError
        raise InvalidInputError(f"not YAML: {error}") from error


def _require_plain(text: str) -> None:
    """Raise at the first thing that is not supported, before anything is built."""
    depth, n_entries = 0, 0
    for event in yaml.parse(text, Loader=Loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise InvalidInputError(
                f"line {line}: anchors and aliases ('&{event.anchor}', '*{event.anchor}') are not supported; write out "
                "what they stand for"
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise InvalidInputError(f"line {line}: not a schema, it is nested too deeply: at most {DEEPEST} levels")
        n_entries += isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent))
        if n_entries > MOST_ENTRIES:
            raise InvalidInputError(f"line {line}: more than {MOST_ENTRIES:,} entries are not read from YAML; use JSON")
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > LONGEST_SCALAR:
            raise InvalidInputError(
                f"line {line}: an entry has {len(event.value):,} characters, and at most {LONGEST_SCALAR:,} are read"
            )


def _require_unique_keys(root: Any) -> None:
    """Raise if an entry is there twice, of which YAML would take the last without a word, or is a merge key."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                line = key.start_mark.line + 1
                if key.tag == MERGE:
                    raise InvalidInputError(f"line {line}: merge keys ('<<') are not supported; write out the entries")
                if (key.tag, str(key.value)) in keys:
                    raise InvalidInputError(
                        f"the entry {shown(key.value)} in line {line} is there twice; keep one of them"
                    )
                keys.add((key.tag, str(key.value)))
                waiting.append(value)
