"""`GET /v1/schema`: what the columns are, and what may happen to them."""

from typing import TYPE_CHECKING, Any, Literal

from fastapi import Response
from pydantic import Field

from copa.data.tables.casting import INTEGER, NUMBER, TEXT, TRUTH
from copa.data.tables.cells import alone, as_json
from copa.plans.units import name_and_unit
from copa.service.answers import Answer, encoded
from copa.service.routes.resources import Running, json_response, new_router

if TYPE_CHECKING:
    from copa.data.schema import Feature
    from copa.service.state import Service

router = new_router("schema")
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
    kind: Literal["numeric", "integer", "ordinal", "categorical", "binary"] | None = Field(
        description="null for a column that the model reads and the schema does not describe: it never changes."
    )
    type: Literal["integer", "number", "boolean", "string"] = Field(description="Type of its values in JSON.")
    immutable: bool = Field(description="Whether no option changes it.")
    direction: Literal["both", "increase", "decrease"]
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
    """What the columns are, and what may happen to them."""

    columns: list[Column] = Field(description="In the order of the model; applicants must have all of them.")
    rules: list[str] = Field(description="What every option obeys across columns.")
    max_changes: int | None = Field(description="Most columns that an option may change.")


@router.get("/schema", response_model=SchemaAnswer)
async def schema(service: Running) -> Response:
    """The columns of applicants, for a form; what may change, and how."""
    return json_response(encoded(schema_content(service), SchemaAnswer))


def schema_content(service: "Service") -> dict[str, Any]:
    """The schema of the service, as JSON has it."""
    found = service.planner.schema_
    columns = [
        _column(name, TYPES[kind], found[name] if name in found else None, _typical(service, name))  # noqa: SIM401
        for name, kind in service.reader.kinds.items()
    ]
    rules = [rule.text for rule in found.rules]
    return {"columns": columns, "rules": rules, "max_changes": found.max_changes}


def _typical(service: "Service", name: str) -> Any:
    row = service.planner.strategy_.accepted_row
    return None if row is None or name not in row else as_json(row[name].iloc[0])


def _column(name: str, kind: str, feature: "Feature | None", typical: Any) -> dict[str, Any]:
    if feature is None:
        empty = dict.fromkeys(("kind", "lower", "upper", "step", "spread", "max_change", "values"))
        told = {"name": name, "title": name, "unit": "", "type": kind, "immutable": True, "direction": "both"}
        return {**told, "weight": 1.0, **empty, "typical": typical}
    title, unit = name_and_unit(feature.heading)
    most = feature.max_change
    offered = feature.allowed or feature.values or ()
    return {
        "name": name,
        "title": title,
        "unit": unit,
        "kind": feature.kind,
        "type": kind,
        "immutable": feature.immutable,
        "direction": feature.direction,
        "lower": feature.lower,
        "upper": feature.upper,
        "step": feature.step,
        "spread": feature.spread,
        "weight": feature.weight,
        "max_change": most if most is None or isinstance(most, float) else dict(most),
        "values": None
        if feature.values is None
        else [
            {
                "value": as_json(value),
                "label": feature.label_of(value) or alone(value),
                "offered": value in offered and value not in feature.withheld and not feature.immutable,
            }
            for value in feature.values
        ],
        "typical": typical,
    }
