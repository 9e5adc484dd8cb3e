"""HTML from templates: whatever a template is handed is escaped, and holds no character that steers a screen."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.words import rounded_down, rounded_up, visible

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **content: Any) -> str:
    """Fill a template in.

    Parameters
    ----------
    template : str
        Path of its file below the package, as "plans/templates/plan.html.j2".
    **content : object
        What it shows, plain data by name.

    Returns
    -------
    str
    """
    return environment().get_template(template).render(content)


def facts_html(title: str, rows: Sequence[Sequence[Any]], *, head: Sequence[str] = (), note: str = "") -> str:
    """A title and a table, for what is shown in a notebook.

    Examples
    --------
    >>> from copa._core.html import facts_html
    >>> "<td" in facts_html("One fact", [("columns", "2 < 3")]) and "2 &lt; 3" in facts_html("", [("", "2 < 3")])
    True
    """
    return render("_core/templates/facts.html.j2", title=title, rows=rows, head=head, note=note)


@cache
def environment() -> "Environment":
    """Return what all templates of the package share; the first call imports jinja2."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(Path(__file__).parents[1]),
        autoescape=True,
        undefined=StrictUndefined,  # a name that a view does not have is an error, not an empty place
        finalize=_spelt_out,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"rounded_down": rounded_down, "rounded_up": rounded_up}
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return made


def _spelt_out(value: Any) -> Any:
    """Spell steering characters out; what a template has made itself is HTML already."""
    return value if hasattr(value, "__html__") else visible(value)
