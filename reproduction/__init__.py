"""The experiments of "Counterfactual Plans under Distributional Ambiguity", run again and checked."""
