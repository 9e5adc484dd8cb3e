"""What the explorer shows a validator, as JSON has it: what is assumed, a backtest, groups, what the bundle holds."""

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from copa._core.words import counted, visible
from copa.analysis.backtest_record import Backtest
from copa.analysis.totals import Totals
from copa.data.schema import Feature, FeatureSchema
from copa.data.tables.cells import alone, as_text
from copa.planner.representation import model_words
from copa.plans import PlanBatch
from copa.plans.units import amount_text, heading
from copa.plans.wording import WHOM
from copa.report.backtest import CAPTIONS, backtest_tables
from copa.report.validators import assumption_sentences
from copa.report.views import groups

if TYPE_CHECKING:
    from copa.planner.bundle import Bundle

View = dict[str, Any]

NO_BACKTEST = (
    "The service was started without a backtest. `copa backtest DATA --bundle BUNDLE --json > backtest.json` makes "
    "one, and `copa serve BUNDLE --backtest backtest.json` shows it here."
)


def validators_view(bundle: "Bundle", backtest: Backtest | None, running: Sequence[Sequence[str]]) -> View:
    """What is assumed, what a backtest said, and what the bundle holds.

    Parameters
    ----------
    bundle : Bundle
    backtest : Backtest or None
    running : sequence of pairs of str
        Further facts of the service: names and values.
    """
    return {
        "assumed": _assumed(bundle),
        "backtest": None if backtest is None else _backtest(backtest),
        "no_backtest": NO_BACKTEST,
        "bundle": {
            "facts": _bundle_facts(bundle, running),
            "columns": [_column_row(feature) for feature in bundle.fitted.schema.features],
            "rules": [f"Rule: {visible(rule.text)}" for rule in bundle.fitted.schema.rules],
        },
    }


def _assumed(bundle: "Bundle") -> View:
    planner, fitted = bundle.planner, bundle.fitted
    request, basis = planner._request(), fitted.basis  # noqa: SLF001 - one place reads the settings
    ambiguity = fitted.ambiguity(request.n_options)
    what = f"{request.goal.capitalize()} asked for"
    lines = [
        (what, f"{request.guarantee:g}", f"for {WHOM[request.guarantee_for]}"),
        ("Favourable answer", as_text(basis.favourable), ""),
    ]
    if basis.confidence is not None:
        lines.append(("Confidence in the training data", f"{basis.confidence:g}", ""))
    if basis.reliability is not None:
        lines.append(("Reliability", f"{basis.reliability:.2f}", "share of today's scores that another sample finds"))
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


def _bundle_facts(bundle: "Bundle", running: Sequence[Sequence[str]]) -> list[tuple[str, str, str]]:
    written = ", ".join(f"{name} {version}" for name, version in bundle.made_with.items())
    facts = [
        ("Model", model_words(bundle.planner.model), f"{bundle.fitted.kind} strategy"),
        ("Made with", written, ""),
        ("File", bundle.sha256[:12] or "none", f"SHA-256 {bundle.sha256}" if bundle.sha256 else "a planner in memory"),
        ("Python of this service", platform.python_version(), ""),
        *((name, value, "") for name, value in running),
    ]
    if "rows" in bundle.facts:
        facts.insert(1, ("Fitted to", counted(int(bundle.facts["rows"]), "row"), ""))
    return facts


def _column_row(feature: Feature) -> list[str]:
    """A line of the table of columns."""
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


def groups_view(batches: Sequence[PlanBatch], column: str, schema: FeatureSchema, n_all: int) -> View:
    """Applicants compared by a column, as the report does.

    Parameters
    ----------
    batches : sequence of PlanBatch
    column : str
    schema : FeatureSchema
    n_all : int
        How many applicants there are; more than in the batches where only some were planned for.
    """
    totals = Totals(column)
    for batch in batches:
        totals.add(batch)
    n = sum(map(len, batches))
    found = groups(totals, schema)
    name = heading(schema, column)
    if found is None:
        return {"head": ["group"], "rows": [], "caption": name, "notes": ["Nobody in the table is declined."]}
    notes = list(found["notes"])
    if n_all > n:
        notes.append(f"Planned for {n:,} of the {n_all:,} applicants, from all over the table.")
    head = ["group", "declined", "with a menu", "status ok", *found["head"]]
    return {"head": head, "rows": found["rows"], "caption": f"Guarantees and least efforts by '{name}'", "notes": notes}
