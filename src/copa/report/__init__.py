"""Everything that a person reads: reports, pages of gates and backtests, their figures."""

from copa.report.backtest import backtest_figure, backtest_page
from copa.report.builder import ReportBuilder, bounds_table, write_report
from copa.report.gate import gate_page
from copa.report.portfolio import portfolio_figure

__all__ = [
    "ReportBuilder",
    "backtest_figure",
    "backtest_page",
    "bounds_table",
    "gate_page",
    "portfolio_figure",
    "write_report",
]
