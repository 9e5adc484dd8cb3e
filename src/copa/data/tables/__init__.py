"""What a cell of a table is: read, cast, written, packed."""
