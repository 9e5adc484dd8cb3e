"""The search for options: what may change, what a change costs, the cheapest rows that reach a level."""
