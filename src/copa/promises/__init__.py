"""Promises: options that were handed to people, and what a next model does to them.

Functions are imported here at once, because some have the name of their module (`keep`, `gate`): a name that is found
later would be the module for whoever imported that first. What is heavy is imported inside the functions.
"""

from copa.promises.ledger import Ledger
from copa.promises.ledger_check import LedgerCheck
from copa.promises.gate import gate
from copa.promises.gate_report import GateReport
from copa.promises.portfolio import PortfolioRisk, portfolio_risk
from copa.promises.keep import keep
from copa.promises.kept_model import KeptModel
from copa.promises.promised_rows import PromisedRows, promised_rows
from copa.promises.redeem import Redemption

__all__ = ["Ledger", "LedgerCheck", "PromisedRows", "Redemption", "promised_rows"]
__all__ = ["GateReport", "PromisedRows", "gate", "promised_rows"]
__all__ = ["GateReport", "PortfolioRisk", "PromisedRows", "gate", "portfolio_risk", "promised_rows"]
__all__ = ["KeptModel", "PromisedRows", "keep", "promised_rows"]
