"""Plans that others made, as requests bring them: read row by row, audited and corrected together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from copa._core.threads import stop_if_interrupted
from copa._core.words import ERROR
from copa.analysis.attribution import Attributor
from copa.exceptions import CopaError
from copa.plans.document import terms_entry
from copa.service.answers import Entry, entries_of, error_entry
from copa.service.rows import RowError, RowReader

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import CorrectedPlans, RecoursePlanner
    from copa.plans import PlanBatch

Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ExternalGroup:
    """Applicants whose rows and options have the same dtypes.

    Attributes
    ----------
    positions : list of int
        Which applicants of the request they are.
    applicants : DataFrame
    options : list of DataFrame
        Of each.
    """

    positions: list[int]
    applicants: "pd.DataFrame"
    options: list["pd.DataFrame | None"]

    def alone(self) -> list["ExternalGroup"]:
        """The same, one applicant in each."""
        return [
            ExternalGroup([position], self.applicants.iloc[[k]], [self.options[k]])
            for k, position in enumerate(self.positions)
        ]


def read_external(reader: RowReader, plans: Sequence[Any]) -> tuple[list[ExternalGroup], dict[int, str]]:
    """Read applicants and their options; what cannot be read is said of its applicant, and fails no other.

    Parameters
    ----------
    reader : RowReader
    plans : sequence of GivenPlan
    """
    messages: dict[int, str] = {}
    kinds: dict[tuple[str, ...], list[int]] = {}
    for i, plan in enumerate(plans):
        try:
            signs = {reader.signature(option) for option in plan.options}
        except RowError as error:
            messages[i] = f"an option cannot be read: {error}"
        try:
            sign = reader.signature(plan.applicant)
        except RowError as error:
            messages[i] = f"the applicant's own row: {error}"
        if i not in messages:
            kinds.setdefault((sign, *sorted(signs)), []).append(i)
    groups = []
    for some in kinds.values():
        (table,), _ = reader.tables([plans[i].applicant for i in some], some)
        groups.append(ExternalGroup(some, table.frame, [_options(reader, plans[i].options) for i in some]))
    return groups, messages


def _options(reader: RowReader, rows: Sequence[Row]) -> "pd.DataFrame | None":
    import pandas as pd

    tables, _ = reader.tables(rows, range(len(rows)))
    if not tables:
        return None
    return pd.concat([table.frame.astype(object) for table in tables]).sort_index()


def _each(
    groups: Sequence[ExternalGroup], messages: dict[int, str], work: "Callable[[ExternalGroup], PlanBatch]"
) -> None:
    """Do the work of every group; of one in which something cannot be read, each applicant by themselves.

    What is said of an applicant's rows then counts their rows only.
    """
    batch: PlanBatch | None
    for group in groups:
        stop_if_interrupted()
        several = len(group.positions) > 1
        try:
            batch = work(group)
        except CopaError as error:
            if not several:
                messages[group.positions[0]] = str(error)
            batch = None
        if several and (batch is None or (batch.status == ERROR).any()):
            _each(group.alone(), messages, work)


def audit_content(planner: "RecoursePlanner", reader: RowReader, body: Any) -> Entry:
    """What an audit answers: each plan as it is, and what breaks it first."""
    groups, messages = read_external(reader, body.plans)
    attributor = Attributor(planner.fitted_)
    found: dict[int, Entry] = {}
    terms: Entry = {"asked": None, "assumptions": None}

    def audit(group: ExternalGroup) -> "PlanBatch":
        batch = planner.audit(group.options, group.applicants)
        terms.update(terms_entry(batch))
        for k, entry in enumerate(entries_of(batch)):
            first = attributor.attribute(batch[k]) if batch.counts[k] else None
            entry["breaks_first"] = None if first is None else first.to_dict()
            found[group.positions[k]] = entry
        return batch

    _each(groups, messages, audit)
    plans = [found.get(i) or error_entry(i, messages[i]) | {"breaks_first": None} for i in range(len(body.plans))]
    return {"plans": plans, **terms, "comparison": attributor.comparison}


def correct_content(planner: "RecoursePlanner", reader: RowReader, body: Any) -> Entry:
    """What a correction answers: each plan before and after."""
    groups, messages = read_external(reader, body.plans)
    before: dict[int, Entry] = {}
    after: dict[int, Entry] = {}
    terms: Entry = {"asked": None, "assumptions": None}
    how = {"method": body.method, "budget": body.budget, "margin": body.margin, "n_corrections": body.n_corrections}

    def correct(group: ExternalGroup) -> "PlanBatch":
        corrected: CorrectedPlans = planner.correct(group.options, group.applicants, **how)
        terms.update(terms_entry(corrected.after))
        for entries, batch in ((before, corrected.before), (after, corrected.after)):
            entries |= dict(zip(group.positions, entries_of(batch), strict=True))
        return corrected.before

    _each(groups, messages, correct)

    def told(entries: dict[int, Entry]) -> list[Entry]:
        return [entries.get(i) or error_entry(i, messages[i]) for i in range(len(body.plans))]

    return {"before": told(before), "plans": told(after), **terms}
