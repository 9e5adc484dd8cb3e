"""What a feature is and what may happen to it."""
