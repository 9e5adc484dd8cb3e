"""The page as one file: nothing is fetched, nothing is sent."""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from copa.exceptions import MissingPackageError
from copa.plans.card import STYLE, safe
from copa.report.content import Content
from copa.report.views import applicants_section, corrections_section, groups_section, header, overview, slider_data

# The browser looks for the end of a script before it reads JSON: none of these may stand in it as themselves.
# (Separators of lines that JSON allows and JavaScript does not are escaped with all that is not ASCII.)
HARMLESS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def script_json(value: Any) -> str:
    """Return a value as JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, code in HARMLESS.items():
        text = text.replace(character, code)
    return text


def report_page(content: Content) -> str:
    """Return a report as a complete HTML document."""
    sections = [
        overview(content),
        groups_section(content),
        corrections_section(content),
        applicants_section(content),
    ]
    figures = {key: drawn for section in sections for key, drawn in section.figures.items()}
    data = script_json({"figures": figures, "slider": slider_data(content.curves, content.ball.radius)})
    scripts = [plotly_script(), _asset("report.js")]
    body = "".join(section.html for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{safe(_policy(scripts))}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{safe(content.title)}</title><style>{_asset('style.css')}</style>{STYLE}</head>\n<body>"
        f'<a class="skip" href="#applicants">Skip to the applicants</a>{header(content)}'
        f'<noscript><p class="note">Figures and the slider need JavaScript; every figure is also said in words.</p>'
        f"</noscript><main>{body}</main>{_footer()}"
        f'<script type="application/json" id="copa-data">{data}</script>\n'
        f"{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>\n"
    )


def plotly_script() -> str:
    """The drawing library, from the installed package."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingPackageError("reports draw with plotly, which is not installed: pip install plotly") from error
    script: str = get_plotlyjs()
    return script.replace("</script", "<\\/script")  # the same to JavaScript, and no end of a script to a browser


def _asset(name: str) -> str:
    return files("copa.report").joinpath("assets", name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """Only these scripts run, and nothing is loaded from anywhere, whatever the page may contain."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii") for script in scripts]
    allowed = " ".join(f"'sha256-{code}'" for code in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _footer() -> str:
    from copa import __version__

    return (
        f'<footer><p class="note">Made by COPA {safe(__version__)}. This file is complete in itself: it loads nothing '
        "and sends nothing. Every bound comes with a certificate, saved with the plans, that can be checked without "
        "the program that found it.</p></footer>"
    )
