"""A page as one HTML document that needs no network: only its own scripts run, whatever its content may hold."""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from copa._core.files import write_atomically
from copa._core.formats import made_with
from copa._core.html import render
from copa.exceptions import MissingPackageError


def page(template: str, *scripts: str, data: dict[str, Any], path: str | Path | None = None, **content: Any) -> str:
    """Fill a template of a page in.

    Parameters
    ----------
    template : str
        Name of its file in `templates`, one that extends `base.html.j2`.
    *scripts : str
        Names of files in `assets` that run on the page, after the one that draws figures.
    data : dict of str to object
        What the scripts read; "figures", by name, are drawn where the template puts them.
    path : str or Path, optional
        File to write the page to as well.
    **content : object
        What the template shows, "title" among it.

    Returns
    -------
    str
    """
    assets = files("copa.report") / "assets"
    sources = [(assets / name).read_text(encoding="utf-8") for name in ("figures.js", *scripts)]
    sources.append(plotly_script())  # last: it is large, and the first screen does without it
    digests = [base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode("ascii") for source in sources]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    text = render(
        f"report/templates/{template}",
        scripts=sources,
        policy=f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:",
        version=made_with()["copa"],
        data=data,
        **content,
    )
    if path is not None:
        write_atomically(Path(path), text.encode("utf-8"))
    return text


def plotly_script() -> str:
    """Return the drawing library, from the installed package."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingPackageError("pages draw with plotly, which is not installed: pip install plotly") from error
    script: str = get_plotlyjs()
    return script.replace("</script", "<\\/script")  # the same to JavaScript, and no end of a script to a browser
