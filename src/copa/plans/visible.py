"""Characters that steer a screen instead of standing on it, spelt out."""

import unicodedata

# Control characters (NUL, ESC), formatting ones (the order of writing, invisible ones), half characters, and the two
# separators of lines and paragraphs.
STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
JOINERS = "\u200c\u200d"  # which Persian, Hindi and others need within words, and many emoji
LINES = "\n\t"


def visible(value: object, *, lines: bool = True) -> str:
    r"""Return text in which every character that steers a screen is spelt out, as `\x1b` or `\u202e`.

    Text of others can then neither turn the order of what stands beside it, nor move the cursor, nor hide. What is
    visible already stays as it is, so that it does not matter if text passes here twice.

    Parameters
    ----------
    lines : leave ends of lines and tabs as they are; without, text stays on its line
    """
    text = str(value)
    if text.isprintable():  # nearly always
        return text
    kept = JOINERS + LINES if lines else JOINERS
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in STEERING and character not in kept
        else character
        for character in text
    )
