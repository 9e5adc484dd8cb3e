"""`Letter`, and `LetterSettings`: the texts of its sender."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from copa._core.files import write_atomically
from copa._core.words import shown, visible
from copa.analysis.reasons import Reason, Reasons
from copa.exceptions import InvalidInputError

MONTHS = (  # in any locale
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
FIELD = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class LetterSettings:
    """Texts of the sender of letters, the same in every one of them.

    Parameters
    ----------
    sender, contact : str
        Who writes, and whom an applicant turns to.
    valid_until : datetime.date or str, optional
        Day until which the sender stands by the options, such as "2027-03-31". It is the sender's own promise; None
        says that they hold until the model is next updated. Not before the day of the letters, or today, in UTC.
    date : datetime.date or str, optional
        Day of the letters; None leaves it out, and the same plans give the same bytes on any day.
    fields : mapping of str to str
        Further texts for a template of your own, which has them as `fields.name`.
    template : str or Path, optional
        Folder with `sentences.j2` and `page.html.j2`; None for those of the package.
    without_protected : bool
        Whether reasons that look like protected attributes are left out of the letters, which then say that not all
        reasons are listed.
    include_fragile : bool
        Whether letters offer the options of fragile plans, which do not reach the guarantee that was asked for. They
        are left out otherwise.

    Examples
    --------
    >>> from copa.report.letters import LetterSettings
    >>> settings = LetterSettings(sender="Example Bank", valid_until="2999-03-31")
    >>> settings.day("valid_until")
    '31 March 2999'
    """

    sender: str = ""
    contact: str = ""
    valid_until: date | str | None = None
    date: "date | str | None" = None
    fields: Mapping[str, str] = field(default_factory=dict)
    template: str | Path | None = None
    without_protected: bool = False
    include_fragile: bool = False

    def __post_init__(self) -> None:
        for name in ("sender", "contact"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInputError(f"{name} must be text, got {shown(getattr(self, name))}")
        for name in ("valid_until", "date"):
            object.__setattr__(self, name, _read_day(getattr(self, name), name))
        first = self.date if isinstance(self.date, date) else datetime.now(UTC).date()
        if isinstance(self.valid_until, date) and self.valid_until < first:
            raise InvalidInputError(
                f"valid_until must not be before the day of the letter, {first}, got {self.valid_until}"
            )
        for name, text in self.fields.items():
            good = isinstance(name, str) and FIELD.fullmatch(name) and not hasattr(dict, name)
            if not good or not isinstance(text, str):
                raise InvalidInputError(
                    "fields must have names of small letters, digits and underscores, and texts as values, got "
                    f"{shown(name)}: {shown(text)}"
                )

    def day(self, name: str) -> str:
        """Return `date` or `valid_until` in words, "" where it is not given."""
        day = getattr(self, name)
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}" if isinstance(day, date) else ""

    @property
    def texts(self) -> list[str]:
        """All texts of the sender, days included."""
        return [self.sender, self.contact, *self.fields.values(), self.day("date"), self.day("valid_until")]


def _read_day(value: Any, name: str) -> date | None:
    """Read a day from itself, or from how it is written."""
    if isinstance(value, datetime):
        value = value.date()
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be a day such as 2027-03-31, got {shown(value)}") from None


@dataclass(frozen=True, eq=False)
class Letter:
    """A letter to one applicant, whose numbers have been checked against the plan.

    Attributes
    ----------
    applicant : object
        Label of the applicant.
    text, html : str
        The letter as plain text, and as a page that needs nothing from elsewhere. They say the same sentences.
    told : tuple of Reason
        The reasons that the letter gives, the most important first.
    protected : tuple of str
        Columns among them that look like protected attributes.
    reasons : Reasons
        All that separates the applicant from those accepted.
    fragile_left_out : int
        Options of a fragile plan that the letter does not offer.

    Examples
    --------
    >>> import copa
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.report.letters import write_letter
    >>> data = copa.datasets.load_german()
    >>> numbers = data.features[["duration", "amount"]]
    >>> model = LogisticRegression(max_iter=500).fit(numbers, data.favourable)
    >>> schema = copa.FeatureSchema([data.schema["duration"], data.schema["amount"]])
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(model, schema=schema, guarantee=0.6, n_options=2, later_models=later)
    >>> plan = planner.fit(numbers, data.favourable).plan(numbers[~model.predict(numbers)].head(1))[0]
    >>> letter = write_letter(planner, plan, sender="Example Bank")
    >>> [reason.column for reason in letter.told]
    ['duration', 'amount']
    """

    applicant: Any
    text: str
    html: str
    told: tuple[Reason, ...]
    protected: tuple[str, ...]
    reasons: Reasons
    fragile_left_out: int = 0

    def save(self, folder: str | Path, name: str = "letter") -> tuple[Path, Path]:
        """Write `<name>.html` and `<name>.txt`, each of them whole or not at all.

        Parameters
        ----------
        folder : str or Path
            Is made if it is not there, readable for its owner only.
        name : str

        Returns
        -------
        html, text : Path
        """
        if not name or Path(name).name != name:
            raise InvalidInputError(f"name must be that of a file, without its folder, got {shown(name)}")
        base = Path(folder)
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.write(base, name)

    def write(self, folder: Path, name: str, *, swept: bool = False) -> tuple[Path, Path]:
        """Write the two files into a folder that is there.

        Parameters
        ----------
        folder : Path
        name : str
        swept : bool
            Whether the folder holds nothing of writers that were killed (`remove_abandoned_parts`).
        """
        paths = folder / f"{name}.html", folder / f"{name}.txt"
        for path, content in zip(paths, (self.html, self.text), strict=True):
            write_atomically(path, content.encode("utf-8"), swept=swept)
        return paths

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Letter({visible(self.applicant, lines=False)}, {len(self.told)} reasons)"

    def _repr_html_(self) -> str:
        from copa._core.html import render

        return render("report/letters/templates/frame.html.j2", page=self.html)
