"""What a cell is and what may change: tables, schemas, and the bundled data sets."""
