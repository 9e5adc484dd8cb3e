"""How a ledger is stored: tables, chain of digests, verification, checkpoints, retention. Not part of the interface."""
