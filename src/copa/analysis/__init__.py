"""Analysis of plans: backtests, metrics, guarantees by radius and effort, reasons, attribution, totals and groups."""
