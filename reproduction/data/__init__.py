"""Data before and after a shift, as tables, vectors and cases that every method is given."""
