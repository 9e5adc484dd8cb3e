"""Do later models keep what is promised? Populations with a known law, judges on fresh data, and the shipped table."""
