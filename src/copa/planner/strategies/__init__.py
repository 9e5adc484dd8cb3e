"""How plans are built for each kind of model."""
