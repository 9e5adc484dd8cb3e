"""A mapping that stays what it is, for the fields of frozen dataclasses."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value_co = TypeVar("Value_co", covariant=True)


class FrozenMap(Mapping[Key, Value_co], Generic[Key, Value_co]):
    """Read-only copy of a mapping; equal to every mapping with the same entries, hashable, and it can be pickled."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[Key, Value_co]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: Key) -> Value_co:
        return self._entries[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return repr(self._entries)
