"""The application: routers behind the guard, and the OpenAPI description of what they answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from copa import __version__
from copa.data.schema.field_readers import SIDES
from copa.data.tables.cells import as_json
from copa.service import explorer, guard, letters, model, plans
from copa.service.problems import BY_STATUS, KINDS, MEDIA_TYPE, Problem, ProblemError, from_status, from_validation
from copa.service.settings import ServiceSettings
from copa.service.state import Service

if TYPE_CHECKING:
    from pathlib import Path

    from copa.data.schema import Feature
    from copa.planner import RecoursePlanner
    from copa.planner.bundle import Bundle

ABOUT = (
    "Plans for declined applicants, each option with a lower bound on the probability that the next model accepts it, "
    "proven under a stated assumption about that model."
)


def build_app(source: "Bundle | RecoursePlanner | str | Path", settings: ServiceSettings | None = None) -> FastAPI:
    """Build the application; see `copa.service.create_app`."""
    service = Service.of(source, settings)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="COPA",
        version=__version__,
        description=ABOUT,
        lifespan=running,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    for router in (*model.routers(service.settings), plans.router, letters.router, explorer.router):
        app.include_router(router)
    if service.ledger is not None:
        from copa.service import promises  # which needs the packages of the ledger

        app.include_router(promises.router)
    app.add_exception_handler(HTTPException, _answer_problem)
    app.add_exception_handler(RequestValidationError, _answer_validation)
    open_paths = (*guard.OPEN, *explorer.open_paths())
    app.add_middleware(guard.Guard, settings=service.settings, open_paths=open_paths)
    app.add_middleware(guard.AccessLog)
    app.openapi = lambda: _description(app, service)  # type: ignore[method-assign]  # FastAPI's own way
    return app


async def _answer_problem(_: Request, error: Any) -> Response:
    return (error if isinstance(error, ProblemError) else from_status(error)).response()


async def _answer_validation(_: Request, error: Any) -> Response:
    return from_validation(error).response()


# ---------------------------------------------------------------------------------------------- its description

OF_ALL = ("misdirected", "internal")
OF_BODIES = ("not-json", "slow-request", "too-large", "unsupported-media-type", "invalid-request", "timeout")
MOST = 1e15  # units of a column
WISHES = {"fixed", "max_change", "weights", "n_options"}


def _description(app: FastAPI, service: Service) -> dict[str, Any]:
    """Describe the routes, the problems that all may answer and the columns of the bundle, once."""
    if app.openapi_schema:
        return app.openapi_schema
    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    definition = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= definition.pop("$defs", {})
    schemas["Problem"] = definition
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    needs_token = service.settings.token_digest is not None
    for path, operations in found["paths"].items():
        for operation in operations.values():
            _add_problems(operation, is_open=path in guard.OPEN, needs_token=needs_token)
    if needs_token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for schema in schemas.values():
        if schema.get("properties", {}).keys() >= WISHES:
            _add_columns(schema["properties"], service)
    app.openapi_schema = found
    return found


def _add_problems(operation: dict[str, Any], *, is_open: bool, needs_token: bool) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    kinds = [*OF_ALL, *(BY_STATUS[int(status)] for status in responses if int(status) in BY_STATUS)]
    if not is_open:
        kinds.append("busy")
    if not is_open and needs_token:
        kinds.append("unauthorized")
        operation["security"] = [{"token": []}]
    if "requestBody" in operation:
        kinds += OF_BODIES
    if "parameters" in operation:
        kinds.append("invalid-request")
    for kind in kinds:
        status, title = KINDS[kind]
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        responses[str(status)] = {"description": title, "content": content}


def _add_columns(properties: dict[str, Any], service: Service) -> None:
    """Say which columns wishes may name, and how large a request may be."""
    settings, schema = service.settings, service.planner.schema_
    for name in {"applicants", "plans"} & properties.keys():
        properties[name]["maxItems"] = settings.max_applicants
    if "applicants" in properties:
        properties["applicants"]["examples"] = [[_example(service)]]
    free = [feature for feature in schema.features if not feature.immutable]
    properties["fixed"]["items"] = {"type": "string", "enum": list(schema.names)}
    weight = properties["weights"]["additionalProperties"]
    properties["weights"] |= {"properties": {f.name: weight for f in free}, "additionalProperties": False}
    share, _ = properties["max_change"]["additionalProperties"]["anyOf"]
    limits = {f.name: _limit(f, share) for f in free if f.is_numeric or f.kind == "ordinal"}
    properties["max_change"] |= {"properties": limits, "additionalProperties": False}
    for option in properties["n_options"]["anyOf"]:
        if option.get("type") == "integer":
            option["maximum"] = settings.max_options


def _limit(feature: "Feature", share: dict[str, Any]) -> dict[str, Any]:
    """Describe the limits that a wish may set in a column: within those of the schema."""
    most = feature.max_change
    if isinstance(most, float):
        return {**share, "maximum": most}
    known = {} if most is None else dict(most)
    number = "integer" if feature.kind == "ordinal" else "number"
    units = {
        "type": "object",
        "properties": {side: {"type": number, "minimum": 0, "maximum": known.get(side, MOST)} for side in SIDES},
        "required": list(known),
        "additionalProperties": False,
    }
    return units if known or feature.kind == "ordinal" else {"anyOf": [share, units]}


def _example(service: Service) -> dict[str, Any]:
    """Return an applicant that can be read: what is typical of those accepted, if that is known."""
    row = service.planner.strategy_.accepted_row
    known = {} if row is None else {str(name): as_json(row[name].iloc[0]) for name in row}
    return {name: known.get(name) for name in service.reader.kinds}
