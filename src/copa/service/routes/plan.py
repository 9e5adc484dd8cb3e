"""`POST /v1/plan`: plans for one or many applicants, and what one person asks for."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Request, Response
from pydantic import BeforeValidator, Field, StrictBool, StrictStr

from copa.planner.wishes import LEAST_WEIGHT, MOST_WEIGHT
from copa.service.answers import Body, PlanAnswer
from copa.service.problems import invalid
from copa.service.routes.resources import Running, answer_of, count_applicants, json_response, new_router
from copa.service.state import PlanRequest, Service

router = new_router("plan")

Applicant = dict[str, Any]
Probability = Annotated[float, Field(strict=True, gt=0.0, lt=1.0)]
Side = Annotated[float, Field(strict=True, ge=0.0, le=1e15)]
ShareOfOwn = Annotated[float, Field(strict=True, gt=0.0, le=10.0)]


def _whole(value: Any) -> Any:
    """JSON knows one kind of numbers: 2.0 is the whole number 2."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


AsWhole = BeforeValidator(_whole)
NOptions = Annotated[int, Field(strict=True, ge=1), AsWhole]
Horizon = Annotated[int, Field(strict=True, ge=1, le=1000), AsWhole]
Factor = Annotated[float, Field(strict=True, ge=LEAST_WEIGHT, le=MOST_WEIGHT)]


class Sides(Body):
    """How far up and down, in units of the column (levels of an ordinal); a side that is left out has no limit."""

    up: Side = Field(default_factory=float)  # what is left out is no limit, see `wishes`
    down: Side = Field(default_factory=float)


class WishesBody(Body):
    """What one person asks for; what is left out is as the bundle has it."""

    fixed: list[StrictStr] = Field(default=[], description="Columns that no option changes.", max_length=10_000)
    max_change: dict[str, ShareOfOwn | Sides] = Field(
        default={}, description="How far an option may go from the applicant's own value: a share of it, or units."
    )
    weights: dict[str, Factor] = Field(
        default={}, description="Factor on the effort of changing a column: below 1 for what one would rather change."
    )
    guarantee: Probability | None = Field(
        default=None, description="Level: of the guarantee, or of the expected rate where the bundle plans for one."
    )
    guarantee_for: Annotated[StrictStr, Field(pattern="^(each|all|any)$")] | None = Field(
        default=None, description="Whom the guarantee is for: each option, all of them together, or any one."
    )
    n_options: NOptions | None = Field(default=None, description="Most options of a plan.")
    horizon: Horizon | None = Field(
        default=None, description="Retrainings that options must survive; /v1/model says what it changes."
    )

    def wishes(self) -> dict[str, Any]:
        """Those wishes that were told, as `copa.Wishes` takes them."""
        told = {name: getattr(self, name) for name in WishesBody.model_fields}
        told["max_change"] = {
            name: most.model_dump(exclude_unset=True) if isinstance(most, Sides) else most
            for name, most in self.max_change.items()
        }
        return {name: value for name, value in told.items() if value not in (None, [], {})}


class PlanBody(WishesBody):
    """Applicants, and what is asked for."""

    applicants: list[Applicant] = Field(
        min_length=1, description="From each column to its value; null where there is none. /v1/schema lists them."
    )
    cards: StrictBool = Field(default=False, description="Give each plan what the cards of the report are drawn from.")
    certificates: StrictBool = Field(default=False, description="Give a document with proofs, for /v1/verify.")


@router.post("/plan", response_model=PlanAnswer)
async def plan(body: PlanBody, request: Request, service: Running) -> Response:
    """Build a plan for every applicant; one that cannot be read gets the status "error" and fails no other."""
    require_few(service, body.applicants, "/applicants")
    count_applicants(request, len(body.applicants))
    wishes = read_wishes(service, body)
    asked = PlanRequest(body.applicants, cards=body.cards, certificates=body.certificates)
    return json_response(await answer_of(service.plan(wishes, asked), service.settings.time_limit))


def require_few(service: Service, applicants: Sequence[Any], field: str) -> None:
    """Raise for more applicants than a request may have."""
    most = service.settings.max_applicants
    if len(applicants) > most:
        raise invalid(field, f"{len(applicants)} of them", f"at most {most} in one request")


def read_wishes(service: Service, body: WishesBody) -> Any:
    """The wishes of a request, or the problem with one of them."""
    most = service.settings.max_options
    if body.n_options is not None and body.n_options > most:
        raise invalid("/n_options", body.n_options, f"must be a whole number from 1 to {most}")
    return service.wishes(body.wishes())
