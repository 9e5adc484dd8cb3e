"""Names of files from labels of applicants: safe on every file system, and no two alike."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from copa.tables.cells import as_text, plain

LONGEST = 100  # bytes, which leaves room for endings and for the name of a part
NAMELESS = "applicant"  # where a label has nothing that a name may have
DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in "0123456789¹²³")])


def safe_names(labels: Sequence[Any], taken: Iterable[str] = ()) -> list[str]:
    """Return a name for each label: letters, digits, dots, hyphens and underscores, distinct also without case.

    Parameters
    ----------
    labels : sequence of object
    taken : iterable of str
        Names that are not free.

    Examples
    --------
    >>> from copa.letters.names import safe_names
    >>> safe_names(["Ann", "ann", "../../etc/passwd", "nul", "Jörg M."])
    ['Ann', 'ann-2', 'etc_passwd', '_nul', 'Jörg_M']
    """
    used, names = {_folded(name) for name in taken}, []
    last: dict[str, int] = {}  # number that was given last for a name
    for label in labels:
        base = name = _safe(label)
        number = last.get(_folded(base), 1)
        while _folded(name) in used:
            number += 1
            name = f"{base}-{number}"
        last[_folded(base)] = number
        used.add(_folded(name))
        names.append(name)
    return names


def _safe(label: Any) -> str:
    text = unicodedata.normalize("NFC", label if isinstance(label, str) else as_text(plain(label)))
    kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in text)
    while "__" in kept or ".." in kept:
        kept = kept.replace("__", "_").replace("..", ".")
    kept = kept.strip("._-")
    kept = kept.encode("utf-8", "ignore")[:LONGEST].decode("utf-8", "ignore").rstrip("._-") or NAMELESS
    return f"_{kept}" if kept.partition(".")[0].casefold() in DEVICES else kept


def _folded(name: str) -> str:
    """What file systems that know neither case nor accents' composition take a name for."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", name).casefold())
