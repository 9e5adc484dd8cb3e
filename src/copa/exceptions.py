"""What can go wrong, as one tree. Each error is also one of Python's own, so that either can be caught.

CopaError
├── InvalidInputError   (also a ValueError)    an argument is outside what the call accepts
├── RetrainingError     (also a RuntimeError)  a refit did not converge, or cannot be formed from the data
├── CertificateError    (also a ValueError)    a certificate does not prove what it claims
├── DataError           (also a RuntimeError)  a data file is missing or is not what it should be
└── MissingPackageError (also an ImportError)  an optional package is needed and not installed

BlackBoxWarning         (a UserWarning)        a model made of linear ones is treated as a black box
WeakModelWarning        (a UserWarning)        the model is no better than always giving the more frequent answer
ProtectedReasonWarning  (a UserWarning)        a letter gives an attribute as a reason that the law may protect
FragilePlanWarning      (a UserWarning)        options of fragile plans are left out of promises or of a letter
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
    """An argument is outside what the call accepts; the message says what was received and what is allowed.

    Examples
    --------
    >>> import copa
    >>> try:
    ...     copa.requirement_correction([[1.0, 0.5]], mean=[0.0, 1.0], margin=-1.0)
    ... except copa.InvalidInputError as error:
    ...     print(error)
    margin must be a finite number of at least 0, got -1.0
    """


class RetrainingError(CopaError, RuntimeError):
    """A refit did not converge, or the data do not allow one.

    Examples
    --------
    >>> import copa
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]  # separated perfectly
    >>> try:
    ...     copa.retrained_parameters(LogisticRegression(C=float("inf")), X, y)
    ... except copa.RetrainingError as error:
    ...     print(str(error).split(":")[0])
    a logistic fit has no unique finite solution
    """


class CertificateError(CopaError, ValueError):
    """A certificate does not prove what it claims, or is not a certificate at all.

    Examples
    --------
    >>> import copa
    >>> try:
    ...     copa.Certificate.from_json("{}")
    ... except copa.CertificateError as error:
    ...     print("refused")
    refused
    """


class DataError(CopaError, RuntimeError):
    """A data file is missing, or is not the one it should be.

    Examples
    --------
    >>> import copa
    >>> try:
    ...     copa.FeatureSchema.load("no-such-file.yaml")
    ... except copa.DataError as error:
    ...     print(error)
    the schema no-such-file.yaml cannot be read: No such file or directory
    """


class MissingPackageError(CopaError, ImportError):
    """What was asked for needs an optional package that is not installed; the message says how to install it.

    Examples
    --------
    >>> from copa.exceptions import MissingPackageError
    >>> issubclass(MissingPackageError, ImportError)
    True
    """


class BlackBoxWarning(UserWarning):
    """A model that is made of linear ones cannot be read as one, and is treated as a black box; the message says why.

    Examples
    --------
    >>> import warnings
    >>> from copa.exceptions import BlackBoxWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", BlackBoxWarning)  # plan for it all the same
    """


class WeakModelWarning(UserWarning):
    """The model is no better than always giving the more frequent answer: plans for it steer by noise.

    Examples
    --------
    >>> import warnings
    >>> from copa.exceptions import WeakModelWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", WeakModelWarning)  # let no such model pass
    """


class OutOfReachWarning(UserWarning):
    """No plan for a sample of declined training rows reached the guarantee asked for; the message names what would.

    Examples
    --------
    >>> import warnings
    >>> from copa.exceptions import OutOfReachWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", OutOfReachWarning)  # fit no planner that can certify nothing
    """


class ProtectedReasonWarning(UserWarning):
    """A letter gives an attribute as a reason that the law may protect, such as sex or age; the message names it.

    Examples
    --------
    >>> import warnings
    >>> from copa.exceptions import ProtectedReasonWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ProtectedReasonWarning)  # let no such letter pass
    """


class FragilePlanWarning(UserWarning):
    """Options of fragile plans are left out, of promises or of a letter; the message says how many.

    Examples
    --------
    >>> import warnings
    >>> from copa.exceptions import FragilePlanWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", FragilePlanWarning)  # leave nothing out unnoticed
    """
