"""Storage of a ledger: database, tables, chain of digests, queries. Not part of the interface."""
