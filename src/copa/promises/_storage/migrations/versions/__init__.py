"""One module per version of a ledger's tables."""
