"""A bundle: the planner, its model and the kinds of its columns, in one zip file in which there is nothing to execute.

For a model that is not linear the planner brings the refits with it, of no other types than the model has.

The digests show that a bundle is as it was written; they are no signature. What keeps a forged bundle from doing harm
is that loading it makes objects of known types only, and runs nothing.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.archive import ArchiveReader, Budget, made_with, require_known_entries, write_archive
from copa._core.files import write_atomically
from copa._core.words import listed
from copa.cli.messages import MisuseError, say
from copa.exceptions import CopaError, DataError, InvalidInputError
from copa.models.storage import UntrustedTypesError, pack_estimator, unpack_estimator, untrusted_types
from copa.tables.kinds import KINDS, NUMBER, TEXT, TRUTH
from copa.tables.packing import digest_of

if TYPE_CHECKING:
    from copa.planner import RecoursePlanner
    from copa.planner.strategies.base import Strategy


PICKLES = (".pkl", ".pickle", ".joblib")


def load_model(path: Path, *, trust_pickle: bool) -> Any:
    """Load a fitted model from a .skops file, or from a pickle that the user vouches for."""
    if not path.is_file():
        raise MisuseError(f"the model {path} does not exist (looked for {path.absolute()})")
    suffix = path.suffix.lower()
    if suffix == ".skops":
        return unpack_model(path.read_bytes(), str(path))
    if suffix not in PICKLES:
        raise MisuseError(f"a model must be a .skops file, or a pickle (.pkl, .joblib), got {path.name}")
    if not trust_pickle:
        raise MisuseError(
            f"{path} is a pickle, and loading a pickle runs whatever code is in it; if you made it yourself add "
            "--trust-pickle, otherwise ask for a .skops file"
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle can raise anything
        raise DataError(f"the model {path} cannot be loaded: {type(error).__name__}: {error}") from error


def unpack_model(raw: bytes, name: str, budget: Budget | None = None) -> Any:
    """Load a model from the bytes of a skops file; types beyond the trusted ones are refused before any is made.

    Parameters
    ----------
    name : where the bytes come from, for messages
    budget : of the file which they are inside of; None for a file of its own
    """
    try:
        return unpack_estimator(raw, budget=budget)
    except UntrustedTypesError as error:
        raise MisuseError(
            f"the model {name} holds types that are not trusted: {listed(error.types)}; those of the usual models and "
            "transformers of scikit-learn are"
        ) from error
    except DataError as error:
        raise DataError(f"the model {name} cannot be loaded: {error}") from error


def pack_model(model: Any) -> bytes:
    """Return the bytes of a skops file that `unpack_model` loads, or say why there is none."""
    try:
        raw = pack_estimator(getattr(model, "best_estimator_", model))
        untrusted = untrusted_types(raw)
    except InvalidInputError as error:
        raise MisuseError(
            f"the model cannot be put into a bundle: {error}; or use copa.RecoursePlanner from Python"
        ) from error
    if untrusted:
        raise MisuseError(
            f"the model cannot be put into a bundle: loading its parts {listed(untrusted)} could run code of others; "
            "bundles hold scikit-learn's own parts only. Use copa.RecoursePlanner from Python, whose `save` and `load` "
            "take the types of your model"
        )
    return raw


def expected_kinds(model: Any) -> dict[str, str]:
    """Kinds of the columns whose categories an encoder of the model has learned: the code "1" is not the number 1."""
    kinds = {}
    for columns, step in _encoders(model, None):
        for name, categories in zip(columns, step.categories_, strict=False):
            kind = _kind_of_categories(categories)
            if kind is not None:
                kinds[str(name)] = kind
    return kinds


def _encoders(model: Any, columns: Any) -> Iterator[tuple[Any, Any]]:
    """Encoders at the beginning of the model, with the raw columns that they are given."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    names = getattr(model, "feature_names_in_", columns)
    if isinstance(model, Pipeline):
        yield from _encoders(model.steps[0][1], names)
    elif isinstance(model, ColumnTransformer):
        for _, step, chosen in model.transformers_:
            own = getattr(step, "feature_names_in_", None)
            yield from _encoders(step, chosen if own is None else own)
    elif hasattr(model, "categories_") and names is not None:
        yield names, model


def _kind_of_categories(categories: Any) -> str | None:
    seen = [value for value in list(categories) if value is not None and value == value]  # noqa: PLR0124 - NaN is not itself
    if seen and all(isinstance(value, str) for value in seen):
        return TEXT
    if seen and all(str(value) in ("True", "False") for value in seen):
        return TRUTH
    return NUMBER if seen and categories.dtype.kind == "f" else None


FORMAT, VERSION = "copa-bundle", 1
MANIFEST, PLANNER, MODEL = "manifest.json", "planner.zip", "model.skops"
MEMBERS = r"manifest\.json|planner\.zip|model\.skops"


@dataclass(frozen=True, eq=False)
class Bundle:
    """What a bundle holds.

    Attributes
    ----------
    planner : fitted
    kinds : of the columns that the model and the schema need, in the model's order
    facts : what is known of the fit, for people to read
    sha256 : of the file
    """

    planner: "RecoursePlanner"
    kinds: dict[str, str]
    facts: dict[str, Any]
    sha256: str

    @property
    def fitted(self) -> "Strategy":
        """What the planner has learned."""
        fitted: Strategy = self.planner.fitted_
        return fitted


def save_bundle(path: Path, planner: "RecoursePlanner", kinds: Mapping[str, str], facts: Mapping[str, Any]) -> None:
    """Write a bundle, all of it or nothing."""
    import sklearn

    from copa.planner.persistence import pack_planner

    members = {PLANNER: pack_planner(planner), MODEL: pack_model(planner.model)}
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "made_with": made_with() | {"scikit-learn": sklearn.__version__},
        "kinds": dict(kinds),
        "facts": dict(facts),
        "members": {name: hashlib.sha256(raw).hexdigest() for name, raw in members.items()},
    }
    content["digest"] = digest_of(content, {})
    manifest = {MANIFEST: json.dumps(content, indent=1).encode()}
    write_atomically(path, write_archive(manifest | members, stored=members))


def load_bundle(path: Path) -> Bundle:
    """Read a bundle; nothing in it is executed.

    Raises
    ------
    DataError
        If the file is no bundle, is damaged or changed, or of a newer version.
    """
    if not path.is_file():
        raise MisuseError(f"the bundle {path} does not exist (looked for {path.absolute()}); `copa fit` makes one")
    raw = path.read_bytes()
    budget = Budget(len(raw))
    content, members = _read(raw, path, budget)
    _warn_of_other_versions(content, path)
    from copa.planner import RecoursePlanner

    try:
        model = unpack_model(members[MODEL], f"in {path}", budget)
    except MisuseError as error:  # a bundle of ours holds no such types
        raise DataError(f"{path} is not a bundle that `copa fit` made: {error}") from error
    try:
        # From memory: a file in between would stay behind where the process is killed.
        planner = RecoursePlanner._unpack(  # noqa: SLF001 - a planner inside a file is no public matter
            members[PLANNER], model, path=f"{PLANNER} in {path}", budget=budget
        )
    except CopaError as error:
        raise DataError(f"{error}; make the bundle again with `copa fit`") from error
    return Bundle(planner, content["kinds"], content["facts"], hashlib.sha256(raw).hexdigest())


def _read(raw: bytes, path: Path, budget: Budget) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest and the members, which must be those that it names."""
    try:
        with ArchiveReader(raw, MEMBERS, budget) as archive:
            content = archive.read_json(MANIFEST)
            _require_good(content)
            members = {name: _member(archive, name, content["members"][name]) for name in (PLANNER, MODEL)}
    except DataError as error:
        raise DataError(f"{path} is not a bundle, or is damaged: {error}") from error
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
        raise DataError(
            f"{path} is not a bundle, or is damaged ({type(error).__name__}: {error}); make it again with `copa fit`"
        ) from error
    return content, members


def _member(archive: ArchiveReader, name: str, sha256: str) -> bytes:
    raw = archive.read(name)
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise DataError(f"its member {name} was changed after it was written: the SHA-256 differs")
    return raw


def _require_good(content: Any) -> None:
    """Raise if a manifest is none, is of another version, or was changed."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError("its manifest is that of another format")
    if content.get("version") != VERSION:
        raise DataError(
            f"it has version {content.get('version')!r} of the format, and this copa reads version {VERSION}; "
            "update copa-recourse"
        )
    if content.get("digest") != digest_of(content, {}):
        raise DataError("its manifest was changed after it was written")
    require_known_entries(content["kinds"].values(), KINDS, "kind of column", content)


def _warn_of_other_versions(content: Mapping[str, Any], path: Path) -> None:
    import sklearn

    made = str(content.get("made_with", {}).get("scikit-learn", ""))
    if made.split(".")[:2] != sklearn.__version__.split(".")[:2]:
        say(f"note: {path} was made with scikit-learn {made}, and this is {sklearn.__version__}; fit again if in doubt")
