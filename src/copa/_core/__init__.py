"""Shared by every room: arrays, reading of arguments, files, threads, compilation, words."""
