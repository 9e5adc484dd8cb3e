"""Fitted models on disk: bytes without code, many alike at once, checked before use, known again by their answers."""
