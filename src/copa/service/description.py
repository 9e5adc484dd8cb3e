"""The OpenAPI description: that of the routes, with the problems that all may answer and the columns of the bundle."""

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi

from copa.data.schema.field_readers import SIDES
from copa.data.tables.cells import as_json
from copa.service.problems import BY_STATUS, KINDS, MEDIA_TYPE, Problem

if TYPE_CHECKING:
    from fastapi import FastAPI

    from copa.data.schema import Feature
    from copa.service.state import Service

ANY_METHOD = ("get", "post")
OF_ALL = ("misdirected", "internal")
OF_BODIES = ("not-json", "slow-request", "too-large", "unsupported-media-type", "invalid-request", "timeout")
OPEN = "/healthz"
MOST = 1e15  # units of a column
WISHES = {"fixed", "max_change", "weights", "n_options"}


def describe(app: "FastAPI", service: "Service") -> dict[str, Any]:
    """The description, which is made once."""
    if app.openapi_schema:
        return app.openapi_schema
    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    definition = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= definition.pop("$defs", {})
    schemas["Problem"] = definition
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for path, operations in found["paths"].items():
        for method in ANY_METHOD:
            if method in operations:
                _add_problems(operations[method], path, guarded=service.settings.token_digest is not None)
    if service.settings.token_digest is not None:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for schema in schemas.values():
        if schema.get("properties", {}).keys() >= WISHES:
            _add_columns(schema, service)
    app.openapi_schema = found
    return found


def _add_problems(operation: dict[str, Any], path: str, *, guarded: bool) -> None:
    kinds = [*OF_ALL]
    if path != OPEN:
        kinds += ["busy", *(["unauthorized"] if guarded else [])]
        if guarded:
            operation["security"] = [{"token": []}]
    if "requestBody" in operation:
        kinds += OF_BODIES
    if "parameters" in operation:
        kinds.append("invalid-request")
    responses = operation["responses"]
    responses.pop("422", None)
    kinds += [BY_STATUS[int(status)] for status in responses if int(status) in BY_STATUS]  # that the route names
    for kind in kinds:
        status, title = KINDS[kind]
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        responses[str(status)] = {"description": title, "content": content}


def _add_columns(body: dict[str, Any], service: "Service") -> None:
    """Say which columns wishes may name, and how large a request may be."""
    properties, settings, schema = body["properties"], service.settings, service.planner.schema_
    if "applicants" in properties:
        properties["applicants"]["maxItems"] = settings.max_applicants
        properties["applicants"]["examples"] = [[_example(service)]]
    if "plans" in properties:
        properties["plans"]["maxItems"] = settings.max_applicants
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
    """The limits that a wish may have in a column: within those that the schema has."""
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


def _example(service: "Service") -> dict[str, Any]:
    """An applicant that can be read: what is typical of those accepted, if that is known."""
    row = service.planner.strategy_.accepted_row
    known = {} if row is None else {str(name): as_json(row[name].iloc[0]) for name in row}
    return {name: known.get(name) for name in service.reader.kinds}
