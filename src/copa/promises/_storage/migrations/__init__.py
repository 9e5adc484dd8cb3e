"""Versions of a ledger's tables, which alembic makes one from another."""
