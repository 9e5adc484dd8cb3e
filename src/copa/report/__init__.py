"""Everything that a person reads: reports, pages of gates and backtests, their figures."""

from copa.report.backtest import backtest_figure, backtest_page
from copa.report.builder import ReportBuilder, write_report
from copa.report.gate import gate_page
from copa.report.portfolio import portfolio_figure
from copa.report.text import bounds_table

__all__ = [
    "ReportBuilder",
    "backtest_figure",
    "backtest_page",
    "bounds_table",
    "gate_page",
    "portfolio_figure",
    "write_report",
]
