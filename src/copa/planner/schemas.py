"""The schema that a planner goes by: given, read from a file, or inferred."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from copa.exceptions import InvalidInputError
from copa.schema import FeatureSchema
from copa.schema.fields import is_absent

if TYPE_CHECKING:
    import pandas as pd


def read_schema(given: Any, table: "pd.DataFrame", columns: tuple[str, ...]) -> FeatureSchema:
    """Return the schema with the spreads of the data; inferred from the model's columns where none is given."""
    if is_absent(given):
        schema = FeatureSchema.infer(table[list(columns)])
    elif isinstance(given, FeatureSchema):
        schema = given.with_spreads(table)
    else:
        read = FeatureSchema.from_dict if isinstance(given, Mapping) else FeatureSchema.load
        schema = read(given).with_spreads(table)
    complaints = [message for message in schema.check(table) if message]
    if len(complaints) > len(table) // 2:
        raise InvalidInputError(
            f"the schema does not fit the data: {len(complaints)} of {len(table)} rows break it. The first: "
            f"{complaints[0]}"
        )
    return schema
