"""Plans looked at together: backtests, metrics, curves, frontiers, groups, attributions, reasons."""
