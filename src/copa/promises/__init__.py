"""Promises: options that were handed to people, what a next model does to them, and a refit that keeps them.

`ledger` records promises and how they end, `gate` tries them on a candidate model, `keep` refits a model so that it
keeps them, and `portfolio` forecasts the share of them that the next model breaks. The last three read promises from a
ledger, a batch or a table through `outstanding` and `promised_rows`.

Functions are imported here at once, because some have the name of their module (`keep`, `gate`): a name that is looked
up later would be the module for whoever imported that first. Heavy packages are imported inside the functions.
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
