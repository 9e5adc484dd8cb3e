"""All columns of a table, the rules between them, and everything that follows from them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.arrays import Indices
from copa._core.html import facts_html
from copa._core.reading import read_count
from copa._core.records import FrozenMap
from copa._core.words import counted, hint, require_known, shown
from copa.data.schema import yaml_files as files
from copa.data.schema.columns import Codes, Flags, ReadTable, column_codes, read_table, row_messages
from copa.data.schema.feature import Feature
from copa.data.schema.field_readers import is_absent
from copa.data.schema.inference import infer_feature, spread_of
from copa.data.schema.region import FeasibleRegion
from copa.data.schema.rules import LinearRule
from copa.data.schema.support import range_fields, support_fields
from copa.data.schema.verdicts import count_cells, obeying, violations_of_each
from copa.data.schema.violations import Violation, read_origins
from copa.data.tables.cells import Scalar, as_scalar
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

HEAD = ("column", "title", "kind", "what may change")
GUESSED = {"immutable", "special"}  # fields that notes are about: once they are set, nothing is guessed any more


@dataclass(frozen=True)
class FeatureSchema:
    """Columns of a table, and what may happen to them. Behaves like a mapping from column to `Feature`.

    Parameters
    ----------
    features : sequence of Feature
        One for each column.
    rules : sequence of LinearRule or sequence of str, optional
        What every option must obey, across columns; as rules or as their texts.
    max_changes : int, optional
        How many columns an option may change.
    favourable : str, int, float or bool, optional
        The label of the decision that an applicant wants.
    notes : mapping of str to str
        From a column to what `infer` guessed about it: why it is immutable, and which special codes it seems to have.
        Comments in a YAML file, which are not read again.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa import Feature, FeatureSchema
    >>> age = Feature("age", "integer", immutable=True)
    >>> columns = [age, Feature("debt", "numeric", lower=0), Feature("income", "numeric")]
    >>> schema = FeatureSchema(columns, rules=["debt <= 2*income"])
    >>> applicant = pd.DataFrame({"age": [41], "debt": [90.0], "income": [30.0]})
    >>> option = applicant.assign(age=40, debt=70.0)
    >>> for sentence in schema.violations(applicant, option)[0]:
    ...     print(sentence)
    age: is immutable at 41, got 40
    rule debt <= 2*income does not hold: 10 is above 0
    """

    features: tuple[Feature, ...]
    rules: tuple[LinearRule, ...] = ()
    max_changes: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    favourable: Scalar | None = None
    _by_name: dict[str, Feature] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        features = _read_features(self.features)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "notes", FrozenMap(self.notes))
        object.__setattr__(self, "_by_name", {feature.name: feature for feature in features})
        object.__setattr__(self, "rules", _read_rules(self.rules))
        object.__setattr__(self, "max_changes", _read_max_changes(self.max_changes))
        if self.favourable is not None:
            object.__setattr__(self, "favourable", as_scalar(self.favourable, "favourable"))
        for rule in self.rules:
            require_known(rule.coefficients, self.names, f"rule {rule.text!r}: column")
            for name in rule.coefficients:
                if self[name].kind == "categorical":
                    raise InvalidInputError(f"rule {rule.text!r}: column {name!r} is categorical, a rule needs numbers")
                if self[name].is_categorical:
                    self[name].require_numbers(f"rule {rule.text!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._by_name)

    def __getitem__(self, name: str) -> Feature:
        if name not in self._by_name:
            raise InvalidInputError(f"the schema has no column {shown(name)}; {hint(name, self.names)}")
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        return f"FeatureSchema({self._line()})"

    def _repr_html_(self) -> str:
        rows = [(f.name, f.title or "", f.kind, limits_words(f)) for f in self.features]
        rules = "; ".join(rule.text for rule in self.rules)
        return facts_html(f"FeatureSchema: {self._line()}", rows, head=HEAD, note=f"Rules: {rules}" if rules else "")

    def _line(self) -> str:
        n_open = sum(not feature.immutable for feature in self.features)
        rules = f", {counted(len(self.rules), 'rule')}" if self.rules else ""
        most = "" if self.max_changes is None else f", at most {counted(self.max_changes, 'change')}"
        return f"{counted(len(self), 'column')}: {n_open} may change{rules}{most}"

    @classmethod
    def infer(
        cls,
        X: "pd.DataFrame",
        *,
        immutable: Any = None,
        features: Mapping[str, Mapping[str, Any]] | None = None,
        rules: Any = None,
        max_changes: int | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
    ) -> "FeatureSchema":
        """Describe a table as its data show it; a start, to be read and corrected.

        True and false, or two distinct values: binary. An ordered categorical: ordinal. Other text and categoricals,
        and whole numbers that are `categories`: categorical. Other whole numbers: integer. Other numbers: numeric.

        Of numbers, the range is that between their 1 % and 99 % quantiles. The step is the greatest of 1, 2 and 5 times
        a power of ten of which nearly all of them are multiples; of measurements with many decimals, a thousandth of
        the spread. The spread is half of the distance between the 16 % and 84 % quantiles, or a standard deviation
        where these are the same (of an ordinal's ranks always). A few isolated negative whole numbers, such as -9,
        among numbers that are not negative are special codes. Missing values and special codes are left out of account.

        Columns with a single value are immutable, and so is what looks like an identifier, a protected attribute
        (sex, nationality, marital status ...) or an age; `notes` says why.

        Parameters
        ----------
        X : DataFrame
        immutable : list of str, optional
            Columns that no option changes.
        features : mapping of str to mapping, optional
            From a column to some of its fields, which then are as said and not as seen.
        rules : sequence of LinearRule or sequence of str, optional
        max_changes : int, optional
        categories : mapping of str to sequence, optional
            From a column to the categories that an encoder of the model knows. A planner that is fitted without a
            schema finds them itself.

        Returns
        -------
        FeatureSchema

        Examples
        --------
        >>> import pandas as pd
        >>> seen = pd.DataFrame({"age": [23, 41, 35], "housing": ["rent", "own", "free"], "branch": [3, 1, 2]})
        >>> schema = FeatureSchema.infer(seen, categories={"branch": [1, 2, 3]})
        >>> schema["housing"].values, schema["age"].immutable, schema["branch"].kind
        (('free', 'own', 'rent'), True, 'categorical')
        >>> schema.notes
        {'age': 'immutable: looks like an age'}
        """
        changes = {name: dict(some) for name, some in _read_changes(features).items()}
        table = read_table(X)
        require_known(changes, list(table.columns), "features: column")
        immutable = [] if is_absent(immutable) else immutable
        if isinstance(immutable, str):
            raise InvalidInputError(f"immutable must be a list of columns, got the text {shown(immutable)}")
        require_known(immutable, list(table.columns), "immutable: column")
        for name in immutable:
            changes[name] = {"immutable": True} | changes.get(name, {})
        by_column = {} if is_absent(categories) else dict(categories or {})
        inferred = [infer_feature(table[name], changes.get(name, {}), by_column.get(name)) for name in table.columns]
        notes = {column.feature.name: column.note for column in inferred if column.note}
        described = cls(tuple(column.feature for column in inferred), rules, max_changes, notes=notes)
        return described.with_spreads(table)

    def with_spreads(self, X: "pd.DataFrame") -> "FeatureSchema":
        """Return a copy in which spreads that were not given are those of the data."""
        table = read_table(X, self.names)
        spreads = {f.name: {"spread": spread_of(f, table[f.name])} for f in self.features if f.spread is None}
        return self.replace(spreads)

    def with_support(self, X: "pd.DataFrame") -> "FeatureSchema":
        """Return a copy in which no option moves to values that hardly any training row has.

        Values of a categorical column that fewer than 15 rows have are withheld. Nothing is withheld where the schema
        says `rare: offer`; it still records how many rows there are, in `support`. A range of numbers that is open at
        an end gets one: the 1 % or 99 % quantile of the data, on the step; `observed` says which ends these are.

        An applicant who has such a value may keep it, and nothing is withheld in an immutable column. A planner does
        this when it is fitted.

        Parameters
        ----------
        X : DataFrame
            The training data.

        Returns
        -------
        FeatureSchema

        Examples
        --------
        >>> import pandas as pd
        >>> seen = pd.DataFrame({"home": ["rent"] * 40 + ["own"] * 20 + ["boat"] * 2})
        >>> home = FeatureSchema.infer(seen).with_support(seen)["home"]
        >>> home.withheld, home.support
        (('boat',), {'boat': 2})
        >>> paid = pd.DataFrame({"amount": [*range(1, 1001), 70_000]})
        >>> amount = FeatureSchema([Feature("amount", "integer", lower=0)]).with_support(paid)["amount"]
        >>> amount.lower, amount.upper, amount.observed
        (0.0, 991.0, ('upper',))
        """
        table = read_table(X, self.names)
        fields = {}
        for feature in self.features:
            if feature.is_numeric:  # of an immutable one as well: what it would have to be stays within what there is
                fields[feature.name] = range_fields(feature, table[feature.name])
            elif not feature.immutable:
                fields[feature.name] = support_fields(feature, table[feature.name])
        return self.replace(fields)

    def replace(
        self, changes: Mapping[str, Mapping[str, Any]] | None = None, /, **more: Mapping[str, Any]
    ) -> "FeatureSchema":
        """Return a copy with some fields of some columns changed.

        Parameters
        ----------
        changes : mapping of str to mapping, optional
            From a column to some of its fields.
        **more : mapping
            The same, by the name of the column.

        Returns
        -------
        FeatureSchema

        Examples
        --------
        >>> schema = FeatureSchema([Feature("age", "integer")])
        >>> schema.replace(age={"immutable": True})["age"].immutable
        True
        """
        both = _read_changes(changes) | _read_changes(more)
        require_known(both, self.names, "column")
        features = tuple(f.replace(**both[f.name]) if f.name in both else f for f in self.features)
        notes = {name: note for name, note in self.notes.items() if not GUESSED & set(both.get(name, ()))}
        return replace(self, features=features, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain lists, mappings, text and numbers, without what is the default."""
        return files.content_of(self.features, self.rules, self.max_changes, self.favourable)

    @classmethod
    def from_dict(cls, content: Any) -> "FeatureSchema":
        """Read what `to_dict` returned; unknown entries are refused."""
        return cls(**files.arguments_from(content))

    def save(self, path: str | Path) -> None:
        """Write a file to read and to edit: YAML or JSON, as its name ends (.yaml, .yml, .json)."""
        files.write(self.to_dict(), Path(path), self.notes)

    @classmethod
    def load(cls, path: str | Path) -> "FeatureSchema":
        """Read a file written by `save` or by hand; this never executes code."""
        try:
            return cls.from_dict(files.read(Path(path)))
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from error

    def check(self, X: "pd.DataFrame | ReadTable") -> list[str]:
        """Say what is wrong with each row of a table; "" where nothing is.

        A missing column is an error at once. A row is wrong where a value is none of the known ones, is no finite
        number or not whole although its kind is integer, is missing although a rule needs it, or is
        too large for the multiples of its step to be exact.

        Parameters
        ----------
        X : DataFrame

        Returns
        -------
        list of str
        """
        needed = frozenset(name for rule in self.rules for name in rule.coefficients)
        return row_messages(self.features, needed, ReadTable.of(X, self.names))

    def count_cells(self, X: "pd.DataFrame") -> dict[str, dict[str, int]]:
        """Count the cells of each column that are missing, special codes, or amounts outside the range.

        None of them makes a row wrong: they are what an applicant has.

        Parameters
        ----------
        X : DataFrame

        Returns
        -------
        dict of str to dict
            From a column to its counts of "missing", "special" and "outside", without those that are zero.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = FeatureSchema([Feature("debt", "numeric", lower=0, upper=900, special=[-9])])
        >>> schema.count_cells(pd.DataFrame({"debt": [120.0, None, -9.0, -9.0, 2000.0]}))
        {'debt': {'missing': 1, 'special': 2, 'outside': 1}}
        """
        return count_cells(self.features, ReadTable.of(X, self.names))

    def codes(self, X: "pd.DataFrame", column: str) -> Codes:
        """Positions (N,) of a column's entries in the `values` of its feature; -1 where missing or unknown.

        The same for numbers, true and false, text and categoricals that hold the same values.

        Parameters
        ----------
        X : DataFrame
        column : str
            Of an ordinal, categorical or binary feature.

        Returns
        -------
        ndarray of shape (N,)
        """
        feature = self[column]
        if not feature.is_categorical:
            raise InvalidInputError(
                f"column {column!r} is {feature.kind} and has no list of values to give positions in"
            )
        return column_codes(feature, read_table(X, (column,))[column])

    def limits(self, X: "pd.DataFrame | ReadTable") -> FeasibleRegion:
        """Return where the options of each row's applicant may go, column by column.

        Parameters
        ----------
        X : DataFrame
            One row per applicant.

        Returns
        -------
        FeasibleRegion
        """
        return FeasibleRegion.of(self.features, ReadTable.of(X, self.names))

    def violations(self, origin: "pd.Series[Any] | pd.DataFrame", options: "pd.DataFrame") -> list[list[str]]:
        """Say for each option in what it breaks the schema; an empty list where it obeys.

        Parameters
        ----------
        origin : Series or DataFrame
            The applicant as he or she is; or one row per option.
        options : DataFrame
            One row per option.

        Returns
        -------
        list of list of str
            One list of sentences for each option.
        """
        return [[str(violation) for violation in of_option] for of_option in self.find_violations(origin, options)]

    def find_violations(
        self, origin: "pd.Series[Any] | pd.DataFrame", options: "pd.DataFrame"
    ) -> list[list[Violation]]:
        """Return what `violations` says as records: column, constraint, limit, and what the option has instead."""
        table = ReadTable.of(options, self.names, "options")
        starts = ReadTable.of(read_origins(origin, self.names, len(table)), self.names)
        return violations_of_each(self.features, self.rules, self.max_changes, starts, table)

    def obeys(
        self, origin: "pd.DataFrame | ReadTable", options: "pd.DataFrame | ReadTable", owner: Indices | None = None
    ) -> Flags:
        """Return whether each option obeys the schema, (M,): the verdicts of `violations`, for many options at once.

        Parameters
        ----------
        origin : DataFrame
            One row per option, the applicant as he or she is.
        options : DataFrame
            One row per option.
        owner : ndarray of shape (M,), optional
            Which row of `origin` each option is for, where these are not one per option.

        Returns
        -------
        ndarray of bool of shape (M,)
        """
        table = ReadTable.of(options, self.names, "options")
        starts = ReadTable.of(origin, self.names, "origin")
        if owner is None and len(starts) != len(table):
            raise InvalidInputError(
                f"origin must have one row for each of the {len(table)} options, got {len(starts)} rows"
            )
        return obeying(self.features, self.rules, self.max_changes, starts, table, owner)


def _read_features(features: Any) -> tuple[Feature, ...]:
    if isinstance(features, (str, Mapping)) or not hasattr(features, "__iter__"):
        raise InvalidInputError(f"features must be a list of Feature, got {shown(features)}")
    read = tuple(features)
    names = set()
    for feature in read:
        if not isinstance(feature, Feature):
            raise InvalidInputError(f"features must be a list of Feature, got {shown(feature)} in it")
        if feature.name in names:
            raise InvalidInputError(f"column {feature.name!r} is described twice; keep one of them")
        names.add(feature.name)
    if not read:
        raise InvalidInputError("a schema needs at least one column, got none")
    return read


def _read_rules(rules: Any) -> tuple[LinearRule, ...]:
    if is_absent(rules):
        return ()
    if isinstance(rules, (str, LinearRule)) or not hasattr(rules, "__iter__"):
        raise InvalidInputError(f"rules must be a list of rules, got {shown(rules)}")
    return tuple(rule if isinstance(rule, LinearRule) else LinearRule.parse(rule) for rule in rules)


def _read_max_changes(value: Any) -> int | None:
    if is_absent(value):
        return None
    return read_count(value, "max_changes")


def _read_changes(changes: Any) -> dict[str, Mapping[str, Any]]:
    if is_absent(changes):
        return {}
    if not isinstance(changes, Mapping):
        raise InvalidInputError(f"expected a mapping from column to some of its fields, got {shown(changes)}")
    for name, some in changes.items():
        if not isinstance(some, Mapping):
            raise InvalidInputError(f"column {shown(name)}: expected a mapping from field to value, got {shown(some)}")
    return dict(changes)


def limits_words(feature: Feature) -> str:
    """Describe how a column may change.

    Examples
    --------
    >>> from copa import Feature
    >>> from copa.data.schema.feature_schema import limits_words
    >>> limits_words(Feature("income", "numeric", lower=0, direction="increase", step=100))
    'may only increase, from 0 on, in steps of 100'
    """
    if feature.immutable:
        return "nothing"
    words = ["both ways" if feature.direction == "both" else f"may only {feature.direction}"]
    if feature.is_categorical:
        allowed = feature.values or () if feature.allowed is None else feature.allowed
        words = [] if feature.direction == "both" else words
        words.append(f"to {counted(len(allowed), 'value')}{', not from each to each' if feature.transitions else ''}")
    if feature.lower is not None and feature.upper is not None:
        words.append(f"from {feature.lower:.15g} to {feature.upper:.15g}")
    elif feature.lower is not None or feature.upper is not None:
        words.append(f"up to {feature.upper:.15g}" if feature.lower is None else f"from {feature.lower:.15g} on")
    if feature.step is not None:
        words.append(f"in steps of {feature.step:.15g}")
    if feature.max_change is not None:
        most = feature.max_change
        words.append(f"by at most {shown(dict(most)) if isinstance(most, Mapping) else f'{100 * most:.15g} %'}")
    return ", ".join(words)
