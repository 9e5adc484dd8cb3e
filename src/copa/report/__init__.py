"""Results as a person sees them: text for a terminal, one HTML file for a browser."""

from copa.report.builder import ReportBuilder, write_report
from copa.report.text import bounds_table

__all__ = ["ReportBuilder", "bounds_table", "write_report"]
