"""Data for the page's script, in a form that no text of a user can break out of."""

import json
from typing import Any

# The browser looks for the end of a script before it reads JSON: none of these may stand in it as themselves.
# (Separators of lines that JSON allows and JavaScript does not are escaped with all that is not ASCII.)
HARMLESS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def script_json(value: Any) -> str:
    """Return a value as JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, code in HARMLESS.items():
        text = text.replace(character, code)
    return text
