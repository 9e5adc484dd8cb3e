"""A schema as a small file that people read and edit."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from copa._core.archive import parse_json
from copa._core.files import write_atomically
from copa._core.words import require_known, shown
from copa.data.schema.feature import FIELDS, Feature
from copa.data.schema.field_readers import is_absent
from copa.data.schema.rules import LinearRule
from copa.data.tables.cells import Scalar, text_of
from copa.exceptions import DataError, InvalidInputError

LONGEST = 1_000_000  # characters of a file
LONGEST_SCALAR = 4_000  # characters of a text or number; a number of many digits takes their square in time
MOST_ENTRIES = 50_000  # texts, numbers, lists and mappings; as many take a second or two
DEEPEST = 20  # levels of lists and mappings; a schema has four
MERGE = "tag:yaml.org,2002:merge"
PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "seq", "map")}

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the compiled one, where there is one


def parse_yaml(text: str) -> Any:
    """Return what YAML holds, as plain data.

    Raises
    ------
    InvalidInputError
        If it is not YAML, has an entry twice, or has parts of YAML that are not supported here.
    """
    if len(text) > LONGEST:
        raise InvalidInputError(f"it has {len(text):,} characters, and at most {LONGEST:,} of YAML are read; use JSON")
    try:
        _require_plain(text)
        loader = Loader(text)
        try:
            root = loader.get_single_node()
            _require_unique_keys(root)
            return None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except InvalidInputError:
        raise
    except (yaml.YAMLError, ValueError) as error:  # a date such as 2001-99-99 is a ValueError
        raise InvalidInputError(f"not YAML: {error}") from error


def _require_plain(text: str) -> None:
    """Raise at the first thing that is not supported, before anything is built."""
    depth, n_entries = 0, 0
    for event in yaml.parse(text, Loader=Loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise InvalidInputError(
                f"line {line}: anchors and aliases ('&{event.anchor}', '*{event.anchor}') are not supported; write out "
                "what they stand for"
            )
        if getattr(event, "tag", None) not in {None, *PLAIN_TAGS}:  # a set has no order, and becomes no list
            raise InvalidInputError(
                f"line {line}: the tag {shown(event.tag)} is not supported; write plain text, numbers, lists and "
                "mappings without tags"
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise InvalidInputError(f"line {line}: not a schema, it is nested too deeply: at most {DEEPEST} levels")
        n_entries += isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent))
        if n_entries > MOST_ENTRIES:
            raise InvalidInputError(f"line {line}: more than {MOST_ENTRIES:,} entries are not read from YAML; use JSON")
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > LONGEST_SCALAR:
            raise InvalidInputError(
                f"line {line}: an entry has {len(event.value):,} characters, and at most {LONGEST_SCALAR:,} are read"
            )


def _require_unique_keys(root: Any) -> None:
    """Raise if an entry is there twice, of which YAML would take the last without a word, or is a merge key."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                line = key.start_mark.line + 1
                if key.tag == MERGE:
                    raise InvalidInputError(f"line {line}: merge keys ('<<') are not supported; write out the entries")
                if (key.tag, str(key.value)) in keys:
                    raise InvalidInputError(
                        f"the entry {shown(key.value)} in line {line} is there twice; keep one of them"
                    )
                keys.add((key.tag, str(key.value)))
                waiting.append(value)


FORMAT = "copa_schema"
VERSION = 1
ENTRIES = ("format", "version", "columns", "rules", "max_changes", "favourable")
MAPPINGS = ("transitions", "labels", "support")  # fields whose keys are values of the column
SUFFIXES = (".yaml", ".yml", ".json")
LARGEST = 20_000_000  # bytes of a file


def content_of(
    features: tuple[Feature, ...],
    rules: tuple[LinearRule, ...],
    max_changes: int | None,
    favourable: Scalar | None = None,
) -> dict[str, Any]:
    """Return a schema as plain lists, mappings, text and numbers, without what is the default."""
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    content["columns"] = {f.name: _plain_fields(f) for f in features}
    if rules:
        content["rules"] = [rule.text for rule in rules]
    if max_changes is not None:
        content["max_changes"] = max_changes
    if favourable is not None:
        content["favourable"] = favourable
    return content


def _plain_fields(feature: Feature) -> dict[str, Any]:
    fields = {name: _plain(value) for name, value in feature.stated().items()}
    if feature.special:
        fields["special"] = [_plain(code) for code in feature.special]
    return fields


def _plain(value: Any) -> Any:
    """Return a field as a file holds it; values of choices keep their types, other whole numbers lose their point."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def arguments_from(content: Any) -> dict[str, Any]:
    """Read what `content_of` returned, or a person wrote, as the arguments of a schema."""
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise InvalidInputError(f"not a schema: expected a mapping with format: {FORMAT}, got {shown(content)}")
    require_known(content, ENTRIES, "entry")
    version = content.get("version")
    if version != VERSION or isinstance(version, bool):
        raise InvalidInputError(
            f"version {shown(version)} of the schema format cannot be read, only {VERSION}; update COPA"
        )
    columns = content.get("columns")
    if not isinstance(columns, Mapping):
        raise InvalidInputError(f"columns must be a mapping from column to its fields, got {shown(columns)}")
    features = tuple(_read_column(name, fields) for name, fields in columns.items())
    return {"features": features} | {name: content.get(name) for name in ("rules", "max_changes", "favourable")}


def _read_column(name: Any, fields: Any) -> Feature:
    if not isinstance(name, str):
        raise InvalidInputError(f"column names must be text, got {shown(name)}; put quotes around it")
    if not isinstance(fields, Mapping):
        raise InvalidInputError(f"column {name!r}: expected a mapping from field to value, got {shown(fields)}")
    require_known(fields, FIELDS, f"column {name!r}: field")
    if is_absent(fields.get("kind")):
        raise InvalidInputError(f"column {name!r}: kind must be given")
    return Feature(name, **fields)


def write(content: dict[str, Any], path: Path, notes: Mapping[str, str]) -> None:
    """Write the content of a schema as YAML or JSON; the file is complete or is not there.

    Parameters
    ----------
    content : dict
        What `content_of` returned.
    path : Path
    notes : mapping of str to str
        From a column to a comment on it, in YAML.
    """
    text = _as_json(content) if _suffix(path) == ".json" else _as_yaml(content, notes)
    write_atomically(path, text.encode("utf-8"))


def with_text_keys(content: dict[str, Any]) -> dict[str, Any]:
    """Return what `content_of` returned as JSON can hold it: with text as keys.

    When it is read, keys are matched with the values by their text.
    """
    columns = {name: dict(fields) for name, fields in content["columns"].items()}
    for fields in columns.values():
        for name in MAPPINGS:
            if name in fields:
                fields[name] = {text_of(value): entry for value, entry in fields[name].items()}
    return content | {"columns": columns}


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(with_text_keys(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _as_yaml(content: dict[str, Any], notes: Mapping[str, str]) -> str:
    """Return content as YAML, each column behind its comment."""
    before, after = _dumped(content | {"columns": {"": {"": []}}}).split(_dumped({"columns": {"": {"": []}}}))
    columns = ""
    for name, fields in content["columns"].items():
        columns += f"  # {notes[name]}\n" if name in notes else ""
        columns += _dumped({"columns": {name: fields}}).removeprefix("columns:\n")
    return f"{before}columns:\n{columns}{after}"


def _dumped(content: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, allow_unicode=True, width=120)
    return text


def read(path: Path) -> Any:
    """Return the content of a YAML or JSON file."""
    suffix = _suffix(path)
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise DataError(f"the schema {path} has {size:,} bytes, and at most {LARGEST:,} are read")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"the schema {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"the schema {path} is not a text file in UTF-8: {error}") from error
    if suffix == ".json":
        return _from_json(text)

    return parse_yaml(text)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidInputError(f"the name of a schema file must end in .yaml, .yml or .json, got {path.name!r}")
    return suffix


def _from_json(text: str) -> Any:
    try:
        content = parse_json(text, object_pairs_hook=_unique_entries)
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except InvalidInputError:
        raise
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"it holds half of a character, {error.object[error.start]!a}, which no file can"
        ) from error
    except ValueError as error:  # no JSON, or a number of more digits than Python reads
        raise InvalidInputError(f"not JSON: {error}") from error
    return content


def _unique_entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key, value in pairs:
        if key in entries:
            raise InvalidInputError(f"the entry {shown(key)} is there twice; keep one of them")
        entries[key] = value
    return entries
