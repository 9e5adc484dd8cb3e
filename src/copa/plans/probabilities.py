"""Probabilities as text, always on the safe side: no text promises more than the bound does."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

DIGITS = Decimal("0.001")


def rounded_down(probability: float) -> str:
    """Return a lower bound with three decimals, not above it."""
    return str(Decimal(repr(float(probability))).quantize(DIGITS, ROUND_FLOOR))


def rounded_up(probability: float) -> str:
    """Return an upper bound with three decimals, not below it."""
    return str(Decimal(repr(float(probability))).quantize(DIGITS, ROUND_CEILING))
