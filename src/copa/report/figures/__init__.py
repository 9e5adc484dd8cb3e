"""Figures as plain dictionaries, which the page's script hands to plotly.js."""
