"""Models side by side: one thread for each, and no warnings from any, which the user saw when the model was fitted."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings, whatever scikit-learn does to their filters meanwhile, and hold models to one thread.

    Its ensembles empty the filters and fill them again for every tree. These are shared by all threads: another thread
    may find them empty, complain, and even leave them so. One filter is also filled in faster than many. Threads of
    threads wait for each other, for many times as long as they work.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings(record=True):  # what is shown between two fillings is caught
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        yield
