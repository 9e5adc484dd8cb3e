"""Plans for models theta'phi(x): the search follows phi's slopes, the promise is about phi(x) itself."""
