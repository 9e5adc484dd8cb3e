"""Results as one HTML page and as Markdown."""
