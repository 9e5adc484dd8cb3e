"""The tables and figures of the paper, each as a table of results, and what goes beyond them."""
