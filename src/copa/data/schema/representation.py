"""A schema in one line, and as a table for a notebook."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from copa._core.html import facts_html
from copa._core.words import counted, shown
from copa.data.schema.feature import Feature

if TYPE_CHECKING:
    from copa.data.schema.feature_schema import FeatureSchema

HEAD = ("column", "title", "kind", "what may change")


def schema_line(schema: "FeatureSchema") -> str:
    """Count the columns, those that may change, and the rules."""
    n_open = sum(not feature.immutable for feature in schema.features)
    rules = f", {counted(len(schema.rules), 'rule')}" if schema.rules else ""
    most = "" if schema.max_changes is None else f", at most {counted(schema.max_changes, 'change')}"
    return f"{counted(len(schema), 'column')}: {n_open} may change{rules}{most}"


def schema_html(schema: "FeatureSchema") -> str:
    """A row for each column."""
    rows = [(f.name, f.title or "", f.kind, limits_words(f)) for f in schema.features]
    rules = "; ".join(rule.text for rule in schema.rules)
    return facts_html(f"FeatureSchema: {schema_line(schema)}", rows, head=HEAD, note=f"Rules: {rules}" if rules else "")


def limits_words(feature: Feature) -> str:
    """Describe how a column may change.

    Examples
    --------
    >>> from copa import Feature
    >>> from copa.data.schema.representation import limits_words
    >>> limits_words(Feature("income", "numeric", lower=0, direction="increase", step=100))
    'may only increase, from 0 on, in steps of 100'
    """
    if feature.immutable:
        return "nothing"
    words = ["both ways" if feature.direction == "both" else f"may only {feature.direction}"]
    if feature.is_categorical:
        allowed = feature.values or () if feature.allowed is None else feature.allowed
        words = [] if feature.direction == "both" else words
        words.append(f"to {counted(len(allowed), 'value')}{', not from each to each' if feature.transitions else ''}")
    if feature.lower is not None and feature.upper is not None:
        words.append(f"from {feature.lower:.15g} to {feature.upper:.15g}")
    elif feature.lower is not None or feature.upper is not None:
        words.append(f"up to {feature.upper:.15g}" if feature.lower is None else f"from {feature.lower:.15g} on")
    if feature.step is not None:
        words.append(f"in steps of {feature.step:.15g}")
    if feature.max_change is not None:
        most = feature.max_change
        words.append(f"by at most {shown(dict(most)) if isinstance(most, Mapping) else f'{100 * most:.15g} %'}")
    return ", ".join(words)
