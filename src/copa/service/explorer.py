"""The explorer, the page at `/`: its files, and what it shows beyond the answers of the service's other routes.

Everything on the page is drawn by its own scripts from answers of this service. The page and its files hold nobody's
data, and need no token; what they ask for does.
"""

import base64
import hashlib
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response

from copa import __version__
from copa._core.html import render
from copa._core.threads import stop_if_interrupted
from copa._core.words import counted, hint, shown, visible
from copa.analysis.backtest_record import Backtest
from copa.analysis.totals import Totals
from copa.data.schema import Feature, FeatureSchema
from copa.data.tables.cells import alone, as_json, as_text, cells_of, snap
from copa.data.tables.frames import with_columns
from copa.models.refits.versions import scores_of
from copa.planner.representation import model_words
from copa.plans import PlanBatch
from copa.plans.units import amount_text, heading
from copa.plans.wording import WHOM
from copa.report.backtest import CAPTIONS, backtest_tables
from copa.report.validators import assumption_sentences
from copa.report.views import groups as groups_of
from copa.service.problems import ProblemError, invalid
from copa.service.routing import Running, answer_from, service_of

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.bundle import Bundle
    from copa.service.state import Service

View = dict[str, Any]

SHARED = {"cards.js": "report/assets", "style.css": "report/assets", "card.css": "plans/templates"}
LETTER = ("report", "letters", "templates", "page.html.j2")
TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
FOR_EVER = "public, max-age=31536000, immutable"  # another content has another path
MOST_COMPARED = 200  # applicants of a table who are planned for to compare groups
BLOCK = 20  # of them, planned for at a time
SHARE_OF_TIME = 0.5  # of a request, after which no more of them are planned for


@cache
def assets() -> Mapping[str, bytes]:
    """Return the files of the page by name: its own, and those of the report."""
    package = files("copa")
    own = {entry.name: entry.read_bytes() for entry in package.joinpath("service", "assets").iterdir()}
    shared = {name: package.joinpath(*folder.split("/"), name).read_bytes() for name, folder in SHARED.items()}
    return dict(sorted((own | shared).items()))


@cache
def asset_folder() -> str:
    """Return the path of the files, which changes with their content: a browser keeps them, and never an old one."""
    digest = hashlib.sha256()
    for name, content in assets().items():
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return f"explorer/{digest.hexdigest()[:16]}"


def open_paths() -> tuple[str, ...]:
    """Return the paths that need no token: the page and its files."""
    return ("/", *(f"/{asset_folder()}/{name}" for name in assets()))


@cache
def policy() -> str:
    """Return what the page may do: run its scripts, ask its service, and show a letter in the letter's own style."""
    sheet = files("copa").joinpath(*LETTER).read_text(encoding="utf-8")
    found = re.search(r"<style>(.*?)</style>", sheet, re.DOTALL)
    assert found is not None  # noqa: S101 - a template of the package
    digest = base64.b64encode(hashlib.sha256(found[1].encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{digest}'; connect-src 'self'; "
        "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


# ---------------------------------------------------------------------------------------------- routes

router = APIRouter(include_in_schema=False)


class Explorer:
    """Views of one service, made when they are first asked for, and kept.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: "Service") -> None:
        self._service = service

    @cached_property
    def example(self) -> View:
        """A fictitious applicant, with whom the form starts."""
        return {"row": example_row(self._service.bundle)}

    @cached_property
    def validators(self) -> View:
        """Assumptions, a backtest, and what the bundle holds."""
        bundle, settings = self._service.bundle, self._service.settings
        people, schema = settings.applicants, bundle.planner.strategy_.schema
        columns = [] if people is None else [str(name) for name in people.columns]
        return {
            "assumed": _assumed(bundle),
            "backtest": None if settings.backtest is None else _backtest(settings.backtest),
            "no_backtest": NO_BACKTEST,
            "bundle": {
                "facts": _bundle_facts(bundle),
                "columns": [_column_row(feature) for feature in schema.features],
                "rules": [f"Rule: {visible(rule.text)}" for rule in schema.rules],
            },
            "groups": {
                "columns": [{"name": name, "title": heading(schema, name)} for name in columns],
                "n_applicants": min(0 if people is None else len(people), MOST_COMPARED),
            },
        }

    def groups(self, column: str) -> View:
        """Compare the applicants of the service's table by a column."""
        people = self._service.settings.applicants
        n = 0 if people is None else len(people)
        return _groups_view(self._compared, column, self._service.planner.schema_, n)

    @cached_property
    def _compared(self) -> list[PlanBatch]:
        """Plans for some of the applicants, from all over the table: for as many as there is time for."""
        people: Any = self._service.settings.applicants
        seconds = self._service.settings.time_limit
        some = np.unique(np.linspace(0, len(people) - 1, min(len(people), MOST_COMPARED)).round().astype(int))
        order, end = np.random.default_rng(0).permutation(some), perf_counter() + SHARE_OF_TIME * seconds
        found = []
        for first in range(0, len(order), BLOCK):
            stop_if_interrupted()
            batch = self._service.planner.plan(people.iloc[order[first : first + BLOCK]])
            if (batch.status == "time_limit").any():
                break
            found.append(batch)
            if perf_counter() > end:
                break
        if not found:
            raise ProblemError("timeout", f"no {BLOCK} applicants could be planned for within {seconds:g} s")
        return found


async def explorer_of(request: Request) -> Explorer:
    """Return the explorer of the service that is asked."""
    state = request.app.state
    if not hasattr(state, "explorer"):
        state.explorer = Explorer(await service_of(request))
    found: Explorer = state.explorer
    return found


Shown = Annotated[Explorer, Depends(explorer_of)]


@router.get("/")
async def page(service: Running) -> Response:
    """Return the page."""
    settings = service.settings
    asked = {"needs_token": settings.token_digest is not None, "has_ledger": settings.ledger is not None}
    content = render("service/templates/explorer.html.j2", assets=asset_folder(), version=__version__, **asked)
    headers = {"content-security-policy": policy(), "cache-control": "no-cache"}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/explorer/{digest}/{name}")
async def asset(digest: str, name: str) -> Response:
    """Return a file of the page."""
    content = assets().get(name)
    if content is None or f"explorer/{digest}" != asset_folder():
        raise ProblemError("not-found", "there is no such file of the explorer; load the page again")
    return Response(content, media_type=TYPES[name.rpartition(".")[2]], headers={"cache-control": FOR_EVER})


@router.get("/explorer/example")
async def example(service: Running, explorer: Shown) -> Response:
    """Return the fictitious applicant with whom the form starts."""
    return await answer_from(service, lambda: explorer.example)


@router.get("/explorer/validators")
async def validators(service: Running, explorer: Shown) -> Response:
    """Return what a validator asks about the bundle."""
    return await answer_from(service, lambda: explorer.validators)


@router.get("/explorer/groups")
async def groups(service: Running, explorer: Shown, column: Annotated[str, Query(max_length=1000)]) -> Response:
    """Compare applicants by a column."""
    people = service.settings.applicants
    names = [] if people is None else [str(name) for name in people.columns]
    if column not in names:
        raise invalid("column", column, f"there is no column {shown(column)}; {hint(column, names)}")
    return await answer_from(service, lambda: explorer.groups(column))


# ---------------------------------------------------------------------------------------------- views for validators

NO_BACKTEST = (
    "The service was started without a backtest. `copa backtest DATA --bundle BUNDLE --json > backtest.json` makes "
    "one, and `copa serve BUNDLE --backtest backtest.json` shows it here."
)


def _assumed(bundle: "Bundle") -> View:
    strategy = bundle.fitted
    request, basis = bundle.planner._request(), strategy.basis  # noqa: SLF001 - one place reads the settings
    ambiguity = strategy.ambiguity(request.n_options)
    what = f"{request.goal.capitalize()} asked for"
    lines = [
        (what, f"{request.guarantee:g}", f"for {WHOM[request.guarantee_for]}"),
        ("Favourable answer", as_text(basis.favourable), ""),
    ]
    if basis.confidence is not None:
        lines.append(("Confidence in the training data", f"{basis.confidence:g}", ""))
    if basis.reliability is not None:
        lines.append(
            (
                "Reliability",
                f"{basis.reliability:.2f}",
                "share of today's scores that another sample finds; an applicant's own may be lower",
            )
        )
    if basis.n_rows is not None:
        columns = "" if basis.n_columns is None else f"{counted(basis.n_columns, 'column')} as the model encodes them"
        lines.append(("Training rows", f"{basis.n_rows:,}", columns))
    sentences = assumption_sentences(ambiguity, basis, request)
    sentences.append(f"What the radius rests on: {basis.radius_source}.")
    return {"sentences": sentences, "facts": lines}


def _backtest(found: Backtest) -> View:
    tables = backtest_tables(found)
    return {
        "headline": found.headline,
        "sentences": [found.in_words(h) for h in found.horizons.index],
        "tables": [{"caption": caption} | tables[name] for name, caption in CAPTIONS.items()],
        "notes": [f"{limit}." for limit in found.limits],
    }


def _bundle_facts(bundle: "Bundle") -> list[tuple[str, str, str]]:
    written = ", ".join(f"{name} {version}" for name, version in bundle.made_with.items())
    facts = [
        ("Model", model_words(bundle.planner.model), f"{bundle.fitted.kind} strategy"),
        ("Made with", written, ""),
        ("File", bundle.sha256[:12] or "none", f"SHA-256 {bundle.sha256}" if bundle.sha256 else "a planner in memory"),
        ("Python of this service", platform.python_version(), ""),
        ("COPA of this service", __version__, ""),
    ]
    if "rows" in bundle.facts:
        facts.insert(1, ("Fitted to", counted(int(bundle.facts["rows"]), "row"), ""))
    return facts


def _column_row(feature: Feature) -> list[str]:
    """Return a line of the table of columns."""
    direction = {"both": "yes", "increase": "upwards", "decrease": "downwards"}[feature.direction]
    if feature.is_categorical:
        values = "; ".join(_label(feature, value) for value in feature.values or ())
    else:
        ends = [None if end is None else amount_text(feature, end) for end in (feature.lower, feature.upper)]
        values = " to ".join("any" if end is None else end for end in ends) if any(ends) else "any"
    return [
        visible(feature.heading, lines=False),
        feature.kind,
        "no" if feature.immutable else direction,
        values,
        _limit_words(feature),
    ]


def _label(feature: Feature, value: Any) -> str:
    label = feature.label_of(value)
    return alone(value if label is None else label)


def _limit_words(feature: Feature) -> str:
    most = feature.max_change
    if most is None:
        return "-"
    if isinstance(most, float):
        return f"{100.0 * most:g} % of the value"
    return ", ".join(f"{amount:g} {side}" for side, amount in dict(most).items())


def _groups_view(batches: Sequence[PlanBatch], column: str, schema: FeatureSchema, n_all: int) -> View:
    """Compare applicants by a column, as the report does; `n_all` is how many there are in the table."""
    totals = Totals(column)
    for batch in batches:
        totals.add(batch)
    n = sum(map(len, batches))
    found = groups_of(totals, schema)
    name = heading(schema, column)
    if found is None:
        return {"head": ["group"], "rows": [], "caption": name, "notes": ["Nobody in the table is declined."]}
    notes = list(found["notes"])
    if n_all > n:
        notes.append(f"Planned for {n:,} of the {n_all:,} applicants, from all over the table.")
    head = ["group", "declined", "with a menu", "status ok", *found["head"]]
    return {"head": head, "rows": found["rows"], "caption": f"Guarantees and least efforts by '{name}'", "notes": notes}


# ---------------------------------------------------------------------------------------------- the form's example

FARTHEST = 2.0  # spreads by which a number of the example is off


def example_row(bundle: "Bundle") -> dict[str, Any]:
    """Return a row as JSON has it that today's model declines, with something to be done about it.

    It is what is typical of those whom the model accepts, with one column after another made worse until it is
    declined: by as much as there is still a plan for, or else by as little as possible.
    """
    model, schema = bundle.fitted.model, bundle.fitted.schema
    row = _first_row(bundle)
    changeable = [feature for feature in schema.features if not feature.immutable]
    while changeable and bool(model.accepts(row)[0]):
        tried, columns = _worse_rows(row, changeable)
        if not len(tried):
            break
        order = np.argsort(scores_of(model, tried), kind="stable")
        declined = order[~model.accepts(tried.iloc[order])]
        for k in declined[[0, -1]].tolist() if len(declined) else ():
            row = tried.iloc[[k]].reset_index(drop=True)
            if bundle.planner.plan(row).status[0] == "ok":
                break
        else:
            row = row if len(declined) else tried.iloc[[int(order[0])]].reset_index(drop=True)
        changeable = [feature for feature in changeable if feature.name != columns[int(order[0])]]
    return {str(name): as_json(cells_of(row[name])[0]) for name in row}


def _worse_rows(row: "pd.DataFrame", features: list[Feature]) -> tuple["pd.DataFrame", list[str]]:
    """Return the row with another value in one column, for each column and value; and the columns."""
    import pandas as pd

    rows, columns = [], []
    for feature in features:
        for value in _values(feature, cells_of(row[feature.name])[0]):
            try:
                changed = with_columns(row.astype({feature.name: object}), {feature.name: [value]}).astype(row.dtypes)
            except (TypeError, ValueError):
                continue  # a value that the column's own type does not hold
            rows.append(changed)
            columns.append(feature.name)
    return (pd.concat(rows, ignore_index=True) if rows else row.iloc[:0]), columns


def _values(feature: Feature, own: Any) -> Iterator[Any]:
    """Yield other values of a column: all levels with support, or the number some spreads away."""
    if feature.is_categorical:
        yield from (value for value in feature.values or () if value != own and value not in feature.withheld)
        return
    if not isinstance(own, (int, float)) or feature.spread is None or feature.is_special(own):
        return
    for far in (-FARTHEST * feature.spread, FARTHEST * feature.spread):
        low = -np.inf if feature.lower is None else feature.lower
        high = np.inf if feature.upper is None else feature.upper
        number = float(np.clip(own + far, low, high))
        number = number if feature.step is None else float(snap(number, feature.step))
        yield int(number) if number.is_integer() and isinstance(own, int) else number


def _first_row(bundle: "Bundle") -> "pd.DataFrame":
    """Return what is typical of accepted rows, in the columns of the bundle; where that is not known, any values."""
    import pandas as pd

    schema, typical = bundle.fitted.schema, bundle.fitted.accepted_row
    cells: dict[str, Any] = {}
    for name in bundle.template.columns:
        if typical is not None and name in typical:
            cells[name] = typical[name].to_numpy()
        else:
            cells[name] = [_any_value(schema, name, bundle)]
    row = pd.DataFrame(cells)
    return row.astype({name: bundle.template[name].dtype for name in row if _fits(row[name], bundle.template[name])})


def _fits(own: "pd.Series[Any]", template: "pd.Series[Any]") -> bool:
    return own.dtype != template.dtype and not (template.dtype.kind in "iu" and own.isna().any())


def _any_value(schema: FeatureSchema, name: str, bundle: "Bundle") -> Any:
    known = bundle.fitted.space.typical
    if name in known:
        return known[name]
    feature = schema[name] if name in schema else None  # noqa: SIM401 - a schema has no get
    if feature is None:
        return np.nan if bundle.template[name].dtype.kind in "iuf" else ""
    if feature.is_categorical:
        return (feature.values or ("",))[0]
    ends = [end for end in (feature.lower, feature.upper) if end is not None]
    return float(np.mean(ends)) if ends else 0.0
