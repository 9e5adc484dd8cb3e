"""Parts of the page, each a piece of HTML."""
