"""Results as a person sees them: text for a terminal, one HTML file for a browser."""

from copa.report.builder import ReportBuilder, bounds_table, write_report

__all__ = ["ReportBuilder", "bounds_table", "write_report"]
