"""Results as a person sees them."""

from copa.report.text import bounds_table

__all__ = ["bounds_table"]
