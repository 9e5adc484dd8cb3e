"""Cells, and what may change: tables, schemas, and the bundled data sets."""
