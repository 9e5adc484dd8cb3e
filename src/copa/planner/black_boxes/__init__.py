"""Plans for models that are only asked: local stand-ins for the search, the model's own answers for the promise."""
