"""Files of COPA whose members were changed, all digests made anew as a forger would."""

import hashlib
import io
import json
import zipfile

from copa._core import archive
from copa._core.formats import digest_of


def members(source):
    """The members of a zip file, by name; from its path, a stream or its bytes."""
    with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(contents, method=zipfile.ZIP_DEFLATED):
    """The bytes of a zip file of some members."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as file:
        for name, raw in contents.items():
            file.writestr(name, raw)
    return whole.getvalue()


def rewritten(path, contents):
    """A path, at which a zip file of some members was written."""
    path.write_bytes(zipped(contents))
    return path


def sealed(contents, name="planner.json"):
    """Members whose list of digests, and digest, are right again wherever that can be."""
    try:
        content = json.loads(contents[name])
        arrays = archive.read_arrays(contents["arrays.npz"], ".+")
    except Exception:  # noqa: BLE001 - the JSON or the arrays are what was forged: nobody gets as far as the digest
        return contents
    kept = [key for key in contents if key not in (name, "arrays.npz")]
    if kept or "members" in content:
        content["members"] = {key: hashlib.sha256(contents[key]).hexdigest() for key in kept}
    content["digest"] = digest_of(content, arrays)
    return contents | {name: json.dumps(content).encode()}


def forge(source, path, change):
    """Write a planner's file with its members changed by a function of their dict."""
    contents = members(source)
    change(contents)
    return rewritten(path, sealed(contents))
