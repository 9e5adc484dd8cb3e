"""No warnings while several threads fit or ask models: the user saw them when the model was fitted."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings, whatever scikit-learn does to their filters meanwhile.

    Its ensembles empty the filters and fill them again for every tree. These are shared by all threads: another thread
    may find them empty, complain, and even leave them so. One filter is also filled in faster than many.
    """
    with warnings.catch_warnings(record=True):  # what is shown where the filters are empty goes into a list
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        yield
