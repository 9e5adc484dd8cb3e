"""What can go wrong, as one tree. Each error is also one of Python's own, so that either can be caught.

CopaError
├── InvalidInputError   (also a ValueError)    an argument is outside what the call accepts
├── RetrainingError     (also a RuntimeError)  a refit did not converge, or cannot be formed from the data
├── CertificateError    (also a ValueError)    a certificate does not prove what it claims
├── DataError           (also a RuntimeError)  a data file is missing or is not what it should be
└── MissingPackageError (also an ImportError)  an optional package is needed and not installed

CompilationWarning      (a UserWarning)        the compiled kernels cannot be kept for the next process
"""


class CopaError(Exception):
    """Root of every error that COPA raises on purpose.

    Examples
    --------
    >>> import copa
    >>> try:
    ...     copa.LinearRule.parse("income => debt")
    ... except copa.CopaError as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    InvalidInputError True
    """


class InvalidInputError(CopaError, ValueError):
    """An argument is outside what the call accepts; the message says what was received and what is allowed."""


class RetrainingError(CopaError, RuntimeError):
    """A refit did not converge, or the data do not allow one."""


class CertificateError(CopaError, ValueError):
    """A certificate does not prove what it claims, or is not a certificate at all."""


class DataError(CopaError, RuntimeError):
    """A data file is missing, or is not the one it should be."""


class MissingPackageError(CopaError, ImportError):
    """What was asked for needs an optional package that is not installed; the message says how to install it."""


class CompilationWarning(UserWarning):
    """The compiled kernels work, but cannot be kept for the next process; the message says what to do."""
