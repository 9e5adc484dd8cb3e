"""Cells of tables: read, cast, written, packed."""
