"""Building plans: the objective, the search for it, and rows that a person can follow."""
