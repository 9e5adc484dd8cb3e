"""Promises: options that were handed to people, what a next model does to them, and a refit that keeps them.

Functions are imported here at once, because some have the name of their module (`keep`, `gate`): a name that is found
later would be the module for whoever imported that first. What is heavy is imported inside the functions.
"""

from copa.promises.gate import gate
from copa.promises.gate_report import GateReport
from copa.promises.keep import keep
from copa.promises.kept_model import KeptModel
from copa.promises.ledger import Ledger, LedgerCheck
from copa.promises.portfolio import portfolio_risk
from copa.promises.portfolio_report import PortfolioRisk
from copa.promises.promised_rows import PromisedRows, promised_rows
from copa.promises.redeem import Redemption

__all__ = [
    "GateReport",
    "KeptModel",
    "Ledger",
    "LedgerCheck",
    "PortfolioRisk",
    "PromisedRows",
    "Redemption",
    "gate",
    "keep",
    "portfolio_risk",
    "promised_rows",
]
