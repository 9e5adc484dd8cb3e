"""`GET /v1/model`: what answers come from, and what their guarantees rest on."""

from typing import TYPE_CHECKING, Any

from fastapi import Response
from pydantic import Field

from copa import __version__
from copa.data.tables.cells import as_json
from copa.planner.later_models import read_later_models
from copa.planner.representation import model_words
from copa.plans.wording import GUARANTEES_MEAN, WHOM, assumption
from copa.service.answers import Answer, encoded
from copa.service.routes.resources import Running, json_response, new_router

if TYPE_CHECKING:
    from copa.service.state import Service

router = new_router("model")
NO_HISTORY = (
    "no older versions were given: every retraining is taken to be on fresh data of the same population, and the "
    "horizon changes nothing"
)
NOT_MOVABLE = "this bundle does not hold what its history shows over other horizons; fit it again"
SHOWN = ("guarantee", "guarantee_for", "n_options", "plausibility")


class Horizon(Answer):
    """How many retrainings options must survive."""

    value: int
    movable: bool = Field(description="Whether a wish for another horizon changes anything.")
    most: int | None = Field(description="Longest horizon over which past versions were seen to move.")
    in_words: str


class Limits(Answer):
    """What a request may have."""

    applicants: int
    options: int
    body: int = Field(description="Bytes.")
    seconds: float


class ModelAnswer(Answer):
    """What answers come from."""

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
    """The model, what is assumed of the next ones, and where each number comes from."""
    return json_response(encoded(model_content(service), ModelAnswer))


def model_content(service: "Service") -> dict[str, Any]:
    """What there is to say of the model, as JSON has it."""
    planner, bundle, settings = service.planner, service.bundle, service.settings
    fitted = planner.strategy_
    ambiguity = fitted.ambiguity(int(planner.n_options))
    later = read_later_models(planner.later_models)
    told = {name: as_json(getattr(planner, name)) for name in SHOWN}
    told |= {"expected": later.expected, "objective": "level" if planner.objective is None else "paper"}
    told |= {"family": ambiguity.family, "confidence": fitted.confidence}
    return {
        "model": model_words(planner.model),
        "kind": fitted.kind,
        "favourable": as_json(fitted.model.favourable),
        "threshold": as_json(fitted.model.threshold),
        "settings": told | {"cost": fitted.space.cost.name},
        "assumption": assumption(ambiguity, fitted.basis),
        "guarantees_mean": GUARANTEES_MEAN,
        "guarantee_for": WHOM,
        "radius": ambiguity.radius,
        "radius_source": fitted.radius_source,
        "reliability": fitted.reliability,
        "shortage": fitted.shortage,
        "horizon": _horizon(service),
        "n_rows": fitted.n_rows,
        "facts": bundle.facts,
        "bundle": bundle.sha256 or None,
        "made_with": bundle.made_with,
        "version": __version__,
        "applicants": None if settings.applicants is None else len(settings.applicants),
        "backtest": settings.backtest is not None,
        "promises": settings.ledger is not None,
        "limits": {
            "applicants": settings.max_applicants,
            "options": settings.max_options,
            "body": settings.max_body,
            "seconds": settings.time_limit,
        },
    }


def _horizon(service: "Service") -> dict[str, Any]:
    planner = service.planner
    later, past = read_later_models(planner.later_models), planner.strategy_.past
    horizon = int(later.horizon)
    if past is not None:
        words = past.drift.over(horizon).in_words(horizon)
        return {"value": horizon, "movable": True, "most": past.drift.n_measured, "in_words": words}
    dated = later.history is not None
    return {"value": horizon, "movable": False, "most": None, "in_words": NOT_MOVABLE if dated else NO_HISTORY}
