"""Run the Python snippets of pages, and rewrite the outputs that the pages show.

Run as `python scripts/update_outputs.py docs/planning.md ...`; without arguments, for every page. Read the difference
before you commit it: the prose around a number may no longer be true.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INCLUDED = "--8<--"  # a file shown on a page


def updated(page: Path) -> str:
    """The page with what its snippets print now."""
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {}
    printed, parts, end = "", [], 0
    for match in BLOCK.finditer(text):
        language, block = match.groups()
        if block.startswith(INCLUDED):
            continue
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block, str(page), "exec"), namespace)  # noqa: S102 - our own pages
            printed = output.getvalue()
        elif language == "text":
            parts += [text[end : match.start(2)], printed]
            end = match.end(2)
    return "".join([*parts, text[end:]])


def main() -> None:
    """Update the pages named on the command line."""
    named = [Path(name) for name in sys.argv[1:]]
    for page in named or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        new = updated(page)
        if new != page.read_text(encoding="utf-8"):
            page.write_text(new, encoding="utf-8")
            print(f"updated {page}")


if __name__ == "__main__":
    main()
