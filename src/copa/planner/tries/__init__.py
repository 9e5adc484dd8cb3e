"""Menus from rows that were tried one by one: for models of which no exact picture can be searched."""
