"""A progress bar where a person is watching: a terminal, or a notebook."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


@contextmanager
def progress_bar(
    total: int, what: str, wanted: bool | None, unit: str = "applicant"
) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many are done; it may be called from any thread.

    Parameters
    ----------
    wanted : True or False, or None for a bar on a terminal and in a notebook only
    """
    if wanted is None:
        wanted = total > 1 and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if not wanted:
        yield lambda _: None
        return
    from tqdm.auto import tqdm

    lock = Lock()
    with tqdm(total=total, desc=what, unit=unit) as bar:

        def advance(done: int) -> None:
            with lock:
                bar.update(done)

        yield advance
