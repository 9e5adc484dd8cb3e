"""SHA-256 over the content of saved plans: it changes with any number, text or array in them.

A digest shows that a file is what was written. It is no signature: whoever changes a file on purpose can write a new
digest. What cannot be forged is a proof; `copa.plans.claims` checks those.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np


class Digest:
    """A running digest of JSON content and arrays: the same for any white space, another for another order."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, content: Any) -> "Digest":
        """Add what JSON holds; returns itself."""
        text = json.dumps(content, separators=(",", ":"), allow_nan=False)
        self._sha.update(text.encode("ascii") + b"\n")
        return self

    def add_array(self, name: str, array: Any) -> None:
        """Add an array of numbers, times or text, with its name, type and shape."""
        values = np.asarray(array)
        self.add([name, values.dtype.str, list(values.shape)])
        self._sha.update(values.tobytes())

    def text(self) -> str:
        """Return the digest of all that was added."""
        return f"sha256:{self._sha.hexdigest()}"


def digest_of(content: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    """Return the digest of JSON content, its own entry "digest" left out, and of arrays by their names."""
    digest = Digest().add({key: value for key, value in content.items() if key != "digest"})
    for name in sorted(arrays):
        digest.add_array(name, arrays[name])
    return digest.text()
