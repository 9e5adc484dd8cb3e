"""Promises of a ledger as tables: all of a status, some at a time, or only counted."""

from typing import TYPE_CHECKING, Any

from copa._core.reading import read_count, read_word
from copa.promises.days import read_day
from copa.promises.record import read_text
from copa.tables.packing import unpack_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from copa.promises._storage.database import Database

BLOCK = 50_000


class ListedPromises:
    """What a ledger says of its promises; use `Ledger`."""

    _database: "Database"

    @property
    def favourable(self) -> Any:
        """The label that was promised; None where there are no promises, or of models with different labels."""
        from copa.promises._storage.listing import read_terms

        with self._database.reading() as connection:
            labels = [unpack_entry(terms["favourable"]) for terms in read_terms(connection).values()]
        return labels[0] if labels and all(label == labels[0] for label in labels) else None

    def promises(self, status: str = "open", as_of: Any = None, *, model_version: str | None = None) -> "pd.DataFrame":
        """The promises of a status, one row each: facts of the promise, then the promised row.

        Parameters
        ----------
        status : {"open", "kept", "broken", "expired", "waived", "all"}
            Which ones, of those made by the day `as_of`. A promise that is open after its last day counts as expired.
        as_of : date or str, optional
            The day on which to ask what is open and what is expired; default: today, in UTC.
        model_version : str, optional
            Only promises that were made with this model, by the name it has in `record`; default: all.

        Returns
        -------
        DataFrame
            The index "promise" holds their ids. Where personal data were purged the applicant is "" and the row is
            missing. A ledger of several tables gives one of all their columns, with missing cells.
        """
        from copa.promises.promised_rows import concat_facts

        return concat_facts(self.blocks(status, as_of, model_version=model_version))

    def counts(self, as_of: Any = None) -> dict[str, int]:
        """Count the promises of each status, without reading them.

        Parameters
        ----------
        as_of : date or str, optional
            The day on which to ask what is open and what is expired; default: today, in UTC. Promises of a later day
            are not counted.

        Returns
        -------
        dict of str to int
            From each status to the number of its promises.
        """
        from copa.promises._storage.listing import read_counts

        day = read_day(as_of)
        with self._database.reading() as connection:
            return read_counts(connection, day)

    def blocks(
        self,
        status: str = "open",
        as_of: Any = None,
        size: int = BLOCK,
        applicant: str | None = None,
        *,
        model_version: str | None = None,
    ) -> "Iterator[pd.DataFrame]":
        """Yield what `promises` returns in parts, so that millions fit in memory.

        Parameters
        ----------
        status, as_of, model_version
            See `promises`.
        size : int
            Most promises of a part. Rows of different columns or dtypes come in parts of their own.
        applicant : str, optional
            Only promises to this person; default: to anyone.

        Yields
        ------
        DataFrame
        """
        from copa.promises._storage.listing import read_blocks
        from copa.promises._storage.tables import ALL, STATUSES

        word = read_word(status, (*STATUSES, ALL), "status")
        day, most = read_day(as_of), read_count(size, "size")
        person = None if applicant is None else read_text(applicant, "applicant")
        version = None if model_version is None else read_text(model_version, "model_version")

        def found() -> "Iterator[pd.DataFrame]":
            with self._database.reading() as connection:
                yield from read_blocks(connection, word, day, most, person, version)

        return found()
