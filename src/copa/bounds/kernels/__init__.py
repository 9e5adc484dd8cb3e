"""Compiled kernels. Nothing is imported here: loading them costs more than the rest of the package.

Each entry point (`lower.lower_bounds`, `mixture.surest_mixtures`) has an explicit signature, so its machine code is
made once, at the first import, and read from the cache on disk afterwards.
"""
