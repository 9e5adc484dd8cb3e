"""`/healthz`, `/v1/schema`, `/v1/model`, `/v1/applicants`, `/v1/backtest`: what the service was given."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from copa import __version__
from copa.data.schema.feature import Direction, Kind
from copa.data.tables.casting import INTEGER, NUMBER, TEXT, TRUTH
from copa.data.tables.cells import alone, as_json
from copa.planner.later_models import read_later_models
from copa.planner.representation import model_words
from copa.plans.units import name_and_unit
from copa.plans.wording import GUARANTEES_MEAN, WHOM, assumption
from copa.service.answers import Answer, Cell, row_entries
from copa.service.problems import ProblemError
from copa.service.routing import Running, count_applicants, json_response, new_router

if TYPE_CHECKING:
    from collections.abc import Iterator

    from copa.data.schema import Feature
    from copa.service.settings import ServiceSettings
    from copa.service.state import Service

health_router, router = new_router("health", prefix=""), new_router("model")
applicants_router, backtest_router = new_router("applicants"), new_router("backtest")


def routers(settings: "ServiceSettings") -> "Iterator[APIRouter]":
    """Yield the routers of every service, and those for what it was given."""
    yield from (health_router, router)
    if settings.applicants is not None:
        yield applicants_router
    if settings.backtest is not None:
        yield backtest_router


# ---------------------------------------------------------------------------------------------- is it there?


class Health(Answer):
    """A sign of life."""

    status: Literal["ok"]


@health_router.get("/healthz")
async def health() -> Health:
    """Say that the service answers; needs no token, and tells nothing else."""
    return Health(status="ok")


# ---------------------------------------------------------------------------------------------- columns

TYPES = {INTEGER: "integer", NUMBER: "number", TRUTH: "boolean", TEXT: "string"}
Value = str | bool | int | float


class Level(Answer):
    """A value that a column may have."""

    value: Value
    label: str = Field(description="What people call it.")
    offered: bool = Field(description="Whether an option may move to it.")


class Column(Answer):
    """A column of the applicants."""

    name: str
    title: str = Field(description="What people call it, without its unit.")
    unit: str = Field(description="Of its numbers; empty where there is none.")
    kind: Kind | None = Field(
        description="null for a column that the model reads and the schema does not describe: it never changes."
    )
    type: Literal["integer", "number", "boolean", "string"] = Field(description="Type of its values in JSON.")
    immutable: bool = Field(description="Whether no option changes it.")
    direction: Direction
    lower: float | None
    upper: float | None
    step: float | None
    spread: float | None = Field(description="What counts as one unit of effort.")
    weight: float
    max_change: float | dict[str, float] | None = Field(
        description="How far an option may go from the applicant's own value: a share of it, or units up and down."
    )
    values: list[Level] | None = Field(description="Values of a column that has a list of them.")
    typical: Value | None = Field(description="A value of those accepted, to begin a form with.")


class SchemaAnswer(Answer):
    """The columns of applicants, and what may happen to them."""

    columns: list[Column] = Field(description="In the order of the model; applicants must have all of them.")
    rules: list[str] = Field(description="What every option obeys across columns.")
    max_changes: int | None = Field(description="Most columns that an option may change.")


@router.get("/schema", response_model=SchemaAnswer)
async def schema(service: Running) -> Response:
    """Return the columns of applicants, for a form; what may change, and how."""
    found, row = service.planner.schema_, service.planner.strategy_.accepted_row
    columns = []
    for name, kind in service.reader.kinds.items():
        told = _described(found[name]) if name in found else UNDESCRIBED | {"title": name}
        typical = None if row is None or name not in row else as_json(row[name].iloc[0])
        columns.append(Column.model_validate({"name": name, "type": TYPES[kind], "typical": typical, **told}))
    rules = [rule.text for rule in found.rules]
    return json_response(SchemaAnswer(columns=columns, rules=rules, max_changes=found.max_changes))


UNDESCRIBED: dict[str, Any] = {
    **dict.fromkeys(("kind", "lower", "upper", "step", "spread", "max_change", "values")),
    "unit": "",
    "immutable": True,
    "direction": "both",
    "weight": 1.0,
}
OF_FEATURE = ("kind", "immutable", "direction", "lower", "upper", "step", "spread", "weight")


def _described(feature: "Feature") -> dict[str, Any]:
    title, unit = name_and_unit(feature.heading)
    most = feature.max_change
    return {
        "title": title,
        "unit": unit,
        **{name: getattr(feature, name) for name in OF_FEATURE},
        "max_change": most if most is None or isinstance(most, float) else dict(most),
        "values": None if feature.values is None else _levels(feature),
    }


def _levels(feature: "Feature") -> list[Level]:
    offered = feature.allowed or feature.values or ()
    return [
        Level(
            value=as_json(value),
            label=feature.label_of(value) or alone(value),
            offered=value in offered and value not in feature.withheld and not feature.immutable,
        )
        for value in feature.values or ()
    ]


# ---------------------------------------------------------------------------------------------- the model

NO_HISTORY = (
    "no older versions were given: every retraining is taken to be on fresh data of the same population, and the "
    "horizon changes nothing"
)
NOT_MOVABLE = "this bundle does not hold what its history shows over other horizons; fit it again"
SHOWN = ("guarantee", "guarantee_for", "n_options", "plausibility")


class Horizon(Answer):
    """Number of retrainings that options must survive."""

    value: int
    movable: bool = Field(description="Whether a wish for another horizon changes anything.")
    most: int | None = Field(description="Longest horizon over which past versions were seen to move.")
    in_words: str


class Limits(Answer):
    """Limits of a request."""

    applicants: int
    options: int
    body: int = Field(description="Bytes.")
    seconds: float


class ModelAnswer(Answer):
    """The model that answers come from, and what is assumed of later ones."""

    model: str = Field(description="The model in force.", examples=["Pipeline with LogisticRegression"])
    kind: str = Field(description="How it is planned for.", examples=["linear"])
    favourable: str | int | float | bool = Field(description="The answer that applicants want.")
    threshold: float | None
    settings: dict[str, str | int | float | bool | None] = Field(description="What is asked for where nothing is said.")
    assumption: str = Field(description="What guarantees rest on, in words.")
    guarantees_mean: str
    guarantee_for: dict[str, str] = Field(description="Whom a guarantee may be for, in words.")
    radius: float
    radius_source: str = Field(description="Where the radius of the ambiguity set comes from, in words.")
    reliability: float | None
    shortage: str = Field(description="Why the training data are too few for any guarantee; empty where they are not.")
    horizon: Horizon
    n_rows: int | None = Field(description="Rows of the training data.")
    facts: dict[str, Any] = Field(description="What the bundle says of the fit.")
    bundle: str | None = Field(description="SHA-256 of the bundle; null where there is no file.")
    made_with: dict[str, Any] = Field(description="Versions of the packages that wrote the bundle.")
    version: str = Field(description="Version of COPA that answers.")
    applicants: int | None = Field(description="Applicants that can be searched for; null where nobody is known.")
    backtest: bool = Field(description="Whether there is a /v1/backtest.")
    promises: bool = Field(description="Whether there is a ledger: /v1/promises.")
    limits: Limits


@router.get("/model", response_model=ModelAnswer)
async def model(service: Running) -> Response:
    """Describe the model, what is assumed of the next ones, and where each number comes from."""
    planner, bundle, settings = service.planner, service.bundle, service.settings
    strategy = planner.strategy_
    ambiguity = strategy.ambiguity(int(planner.n_options))
    later = read_later_models(planner.later_models)
    told = {name: as_json(getattr(planner, name)) for name in SHOWN}
    told |= {"expected": later.expected, "objective": "level" if planner.objective is None else "paper"}
    told |= {"family": ambiguity.family, "confidence": strategy.confidence, "cost": strategy.space.cost.name}
    return json_response(
        ModelAnswer(
            model=model_words(planner.model),
            kind=strategy.kind,
            favourable=as_json(strategy.model.favourable),
            threshold=as_json(strategy.model.threshold),
            settings=told,
            assumption=assumption(ambiguity, strategy.basis),
            guarantees_mean=GUARANTEES_MEAN,
            guarantee_for=WHOM,
            radius=ambiguity.radius,
            radius_source=strategy.radius_source,
            reliability=strategy.reliability,
            shortage=strategy.shortage,
            horizon=_horizon(service),
            n_rows=strategy.n_rows,
            facts=bundle.facts,
            bundle=bundle.sha256 or None,
            made_with=bundle.made_with,
            version=__version__,
            applicants=None if settings.applicants is None else len(settings.applicants),
            backtest=settings.backtest is not None,
            promises=settings.ledger is not None,
            limits=Limits(
                applicants=settings.max_applicants,
                options=settings.max_options,
                body=settings.max_body,
                seconds=settings.time_limit,
            ),
        )
    )


def _horizon(service: "Service") -> Horizon:
    later, past = read_later_models(service.planner.later_models), service.planner.strategy_.past
    value = int(later.horizon)
    if past is not None:
        words = past.drift.over(value).in_words(value)
        return Horizon(value=value, movable=True, most=past.drift.n_measured, in_words=words)
    words = NO_HISTORY if later.history is None else NOT_MOVABLE
    return Horizon(value=value, movable=False, most=None, in_words=words)


# ---------------------------------------------------------------------------------------------- known applicants


class ApplicantName(Answer):
    """An applicant whom the service knows."""

    id: str


class ApplicantsAnswer(Answer):
    """Applicants whose names hold what was searched for."""

    applicants: list[ApplicantName]
    total: int = Field(description="How many there are in all.")


class KnownApplicant(Answer):
    """An applicant, as the service knows them."""

    id: str
    row: dict[str, Cell] = Field(description="As /v1/plan takes it.")


@applicants_router.get("/applicants", response_model=ApplicantsAnswer)
async def applicants(
    service: Running,
    search: Annotated[str, Query(max_length=200, description="Part of a name, in either case; empty for all.")] = "",
    limit: Annotated[int, Query(ge=1, le=100, description="Most that are returned.")] = 20,
) -> Response:
    """Find applicants by their names."""
    wanted = search.casefold()
    found = [name for name in service.names if wanted in name.casefold()]
    names = [ApplicantName(id=name) for name in found[:limit]]
    return json_response(ApplicantsAnswer(applicants=names, total=len(found)))


@applicants_router.get(
    "/applicants/{name:path}", response_model=KnownApplicant, responses={404: {"description": "Nobody"}}
)
async def applicant(
    request: Request, service: Running, name: Annotated[str, Path(max_length=1000, description="The whole name.")]
) -> Response:
    """Return an applicant's row."""
    place, table = service.names.get(name), service.settings.applicants
    if place is None or table is None:
        raise ProblemError("not-found", "this service knows no applicant of that name")
    count_applicants(request, 1)
    (row,) = row_entries(table.iloc[[place]][list(service.reader.kinds)])
    return json_response(KnownApplicant(id=name, row=row))


# ---------------------------------------------------------------------------------------------- a backtest


@backtest_router.get("/backtest", response_model=dict[str, Any])
async def backtest(service: Running) -> Response:
    """Say whether promises of the past were kept: the record that `copa backtest --json` prints."""
    found = service.settings.backtest
    assert found is not None  # noqa: S101 - the route is there only where it is
    return json_response(found.to_dict())
