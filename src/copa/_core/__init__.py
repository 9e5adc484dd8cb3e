"""What every stage shares: arrays, reading of arguments, files, threads, compilation, words."""
