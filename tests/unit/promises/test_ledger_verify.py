# ruff: noqa: S608 - statements with our own words in them
import json
import sqlite3

import numpy as np
import pytest

from copa.exceptions import DataError, InvalidInputError
from copa.promises import Ledger
from unit.promises.ledgers import IN_TIME, KEY, TERMS, content, copied, execute, query, repeated

TABLES = ["head", "layouts", "terms", "events", "personal"]
CHANGES = {
    "kind": ("UPDATE events SET kind = 'waived' WHERE seq = 3", 3),
    "promise": ("UPDATE events SET promise = 'x' WHERE seq = 3", 3),
    "time": ("UPDATE events SET at = '2020' WHERE seq = 3", 3),
    "who": ("UPDATE events SET recorded_by = 'x' WHERE seq = 3", 3),
    "guarantee": ("UPDATE events SET content = replace(content, 'guarantee', 'x') WHERE seq = 3", 3),
    "digest": ("UPDATE events SET digest = 'x' WHERE seq = 3", 3),
    "personal digest": ("UPDATE events SET personal = 'x' WHERE seq = 3", 3),
    "applicant": ("UPDATE personal SET applicant = 'x' WHERE seq = 3", 3),
    "row": ("UPDATE personal SET content = replace(content, '1', '2') WHERE seq = 3", 3),
    "salt": ("UPDATE personal SET salt = 'x' WHERE seq = 3", 3),
    "identity": ("UPDATE personal SET identity = 'x' WHERE seq = 3", 3),
    "dates": ("UPDATE terms SET valid_until = '2030-01-01'", 1),
    "made": ("UPDATE terms SET made = '2020-01-01'", 1),
    "model": ("UPDATE terms SET model_version = 'x'", 1),
    "terms": ("UPDATE terms SET content = '{}'", 1),
    "personal data removed": ("DELETE FROM personal WHERE seq = 3", 3),
    "head": ("UPDATE head SET digest = 'x'", 12),
    "name": ("UPDATE head SET ledger = 'x'", 1),
    "created": ("UPDATE head SET created = 'x'", 1),
    "strange terms": (
        "INSERT INTO terms SELECT 9, layout, 'x', made, valid_until, content FROM terms WHERE id = 1",
        None,
    ),
}


@pytest.fixture
def filled(ledger, loan_plans):
    """Twelve events."""
    ids = ledger.record(loan_plans[:4], **TERMS)[:12]
    assert len(ids) == 12
    return ledger


def test_a_file_is_checked_on_systems_without_positioned_reads(tmp_path, loan_plans, monkeypatch):
    with Ledger.open(f"sqlite:///{tmp_path}/promises.db") as ledger:
        ledger.record(loan_plans[:4], **TERMS)
    monkeypatch.delattr("os.pread")
    with Ledger.open(f"sqlite:///{tmp_path}/promises.db") as ledger:
        assert ledger.verify().ok
        assert ledger.checkpoint(KEY)


def test_every_change_is_found_and_named(filled):
    tables = {name: query(filled, f"SELECT * FROM {name}") for name in TABLES}
    for what, (statement, first_bad) in CHANGES.items():
        assert execute(filled, statement) > 0, what
        check = filled.verify()
        assert (check.ok, check.first_bad) == (False, first_bad), what
        assert check.message
        for name in reversed(TABLES):
            execute(filled, f"DELETE FROM {name}")
        for name, rows in tables.items():
            cells = ", ".join(f":{column}" for column in rows[0]._mapping)
            for row in rows:
                execute(filled, f"INSERT INTO {name} VALUES ({cells})", **row._mapping)
        assert filled.verify().ok


def test_a_removed_event_is_named(filled):
    execute(filled, "DELETE FROM personal WHERE seq = 5")
    execute(filled, "DELETE FROM events WHERE seq = 5")
    check = filled.verify()
    assert (check.ok, check.first_bad, check.events) == (False, 5, 4)
    assert "event 5 is missing" in check.message


def test_two_events_in_another_order_are_found(filled):
    columns = "kind, promise, at, recorded_by, terms, content, personal, digest"
    for old, new in ((5, 100), (6, 5), (100, 6)):
        copy = f"INSERT INTO events SELECT :new, {columns} FROM events WHERE seq = :old"
        execute(filled, copy.replace(":new", str(new)), old=old)
        execute(filled, "UPDATE personal SET seq = :new WHERE seq = :old", old=old, new=new)
        execute(filled, "DELETE FROM events WHERE seq = :old", old=old)
    assert filled.verify().first_bad == 5


def test_removal_of_the_last_events_is_found_by_a_checkpoint(filled, loan_plans):
    checkpoint = json.loads(json.dumps(filled.checkpoint(KEY)))
    assert filled.verify(checkpoint, KEY).ok
    filled.record(loan_plans[4:6], **TERMS)
    assert filled.verify(checkpoint, KEY).ok
    later = filled.checkpoint(KEY)
    execute(filled, "DELETE FROM personal WHERE seq > 10")
    execute(filled, "DELETE FROM events WHERE seq > 10")
    assert filled.verify().first_bad == 11  # the head knows
    execute(filled, "UPDATE head SET seq = 10, digest = (SELECT digest FROM events WHERE seq = 10)")
    assert filled.verify().ok  # nothing in the ledger tells
    assert filled.verify(later, KEY).first_bad == 11
    assert filled.verify(checkpoint, KEY).first_bad == 11


def test_a_forged_checkpoint_is_refused(filled, tmp_path):
    checkpoint = filled.checkpoint(KEY)
    (tmp_path / "key").write_bytes(KEY + b"\n")
    (tmp_path / "checkpoint.json").write_text(json.dumps(checkpoint))
    assert filled.verify(tmp_path / "checkpoint.json", tmp_path / "key").ok
    for change in ({"events": 11}, {"digest": "x"}, {"file": None, "at": "x"}, {"signature": 3}):
        with pytest.raises(DataError, match="changed, or signed with another key"):
            filled.verify(checkpoint | change, KEY)
    with pytest.raises(DataError, match="signed with another key"):
        filled.verify(checkpoint, b"another key of 16 bytes")
    with pytest.raises(DataError, match="not a checkpoint"):
        filled.verify({"format": "x"}, KEY)
    with pytest.raises(InvalidInputError, match="at least 16 bytes, and has 5"):
        filled.checkpoint(b"short")
    with pytest.raises(InvalidInputError, match="cannot be read: No such file"):
        filled.checkpoint(tmp_path / "none")
    with pytest.raises(InvalidInputError, match="needs a key"):
        filled.verify(checkpoint)


def test_the_checkpoint_of_another_ledger_does_not_fit(filled, tmp_path):
    with Ledger.open(tmp_path / "other.db") as other:
        assert not filled.verify(other.checkpoint(KEY), KEY).ok


def test_purge_deletes_personal_data_and_the_chain_still_verifies(filled, loan_plans, set_today):
    set_today("2027-12-31")
    ids = filled.promises(as_of=IN_TIME).index.tolist()
    names = set(filled.promises(as_of=IN_TIME)["applicant"])
    checkpoint = filled.checkpoint(KEY)
    filled.waive(ids[0], "secret reason")
    assert filled.purge("2027-01-16") == 12  # one was waived earlier
    assert query(filled, "SELECT * FROM personal") == []
    table = filled.promises("all")
    assert table.index.tolist() == ids
    assert set(table["applicant"]) == {""}
    assert table["income"].isna().all()
    assert filled.verify(checkpoint, KEY).ok
    if filled._database.is_sqlite:
        filled.checkpoint(KEY)
        raw = filled._database.file.read_bytes()
        assert not any(name.encode() in raw for name in [*names, "secret reason"])
    assert filled.purge("2027-01-16") == 0
    again = filled.record(loan_plans[:4], **TERMS)
    assert not set(again) & set(ids)
    assert filled.verify().ok


def test_purge_leaves_open_promises_alone(filled):
    assert filled.purge("2026-11-18") == 0
    with pytest.raises(InvalidInputError, match="before is 2099-01-01, which has not come: today is "):
        filled.purge("2099-01-01")
    assert len(filled.promises(as_of=IN_TIME)) == 12
    with pytest.raises(InvalidInputError, match="before must be a date"):
        filled.purge(None)


def test_personal_data_cannot_be_put_back_after_a_purge(filled, set_today):
    set_today("2027-12-31")
    row = query(filled, "SELECT * FROM personal WHERE seq = 2")[0]
    filled.purge("2027-01-16")
    execute(
        filled,
        "INSERT INTO personal VALUES (:seq, :salt, :applicant, :content, :identity)",
        **dict(zip(("seq", "salt", "applicant", "content", "identity"), row, strict=True)),
    )
    assert filled.verify().first_bad == 2


def flipped(file, original, place, bit):
    raw = bytearray(original)
    raw[place] ^= bit
    file.write_bytes(raw)
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def found(file, checkpoint=None):
    """Whether opening or verifying a ledger says that something is wrong."""
    try:
        with Ledger.open(file, create=False) as ledger:
            return not ledger.verify(checkpoint, KEY).ok
    except (DataError, InvalidInputError):
        return True


def changed_bytes_are_found(small, batch, tmp_path, n_changes):
    """Flip one bit at a time, and find it with the checkpoint of the copy.

    Returns how many were not found without a checkpoint: none of them changes anything that a query can see.
    """
    ids = small.record(batch, **TERMS)
    small.waive(ids[3], "moved away")
    small.expire("2026-01-01")
    checkpoint = small.checkpoint(KEY)
    file = copied(small, tmp_path / "copy.db")
    original, said = file.read_bytes(), content(file)
    assert not found(file, checkpoint)
    rng = np.random.default_rng(0)
    unseen = 0
    places, bits = rng.integers(0, len(original), n_changes), rng.integers(0, 8, n_changes)
    for place, bit in zip(places.tolist(), bits.tolist(), strict=True):
        flipped(file, original, place, 1 << bit)
        assert found(file, checkpoint), place
        flipped(file, original, place, 1 << bit)
        if not found(file):
            unseen += 1
            assert content(file) == said, f"byte {place} changes what a query returns, and is not found"
    return unseen


def test_changed_bytes_of_a_file_are_found(small, loan_plans, tmp_path):
    assert changed_bytes_are_found(small, loan_plans, tmp_path, 50) < 35


@pytest.mark.slow
def test_each_of_a_thousand_changed_bytes_is_found(small, loan_plans, tmp_path):
    unseen = changed_bytes_are_found(small, repeated(loan_plans, 600), tmp_path, 1_000)
    print(f"{1_000 - unseen} found without a checkpoint, {unseen} in bytes that no query reads; with one, all")  # noqa: T201
    assert unseen < 200


def test_bytes_of_the_header_are_found(small, loan_plans, tmp_path):
    small.record(loan_plans[:3], **TERMS)
    file = copied(small, tmp_path / "copy.db")
    original, said = file.read_bytes(), content(file)
    unseen = []
    for place in range(100):
        flipped(file, original, place, 1)
        if not found(file):
            unseen.append(place)
            assert content(file) == said
    assert set(unseen) <= {*range(40, 44), *range(96, 100)}  # two numbers of SQLite that say nothing of the content


def test_a_changed_schema_of_the_file_is_found(small, loan_plans, tmp_path):
    small.record(loan_plans[:3], **TERMS)
    file = copied(small, tmp_path / "copy.db")
    connection = sqlite3.connect(file)
    connection.execute("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events WHERE seq = NEW.seq; END")
    connection.commit()
    connection.close()
    with Ledger.open(file) as ledger:
        assert "not those of a ledger" in ledger.verify().message


def test_a_file_to_which_events_were_added_is_not_compared_byte_by_byte(small, loan_plans):
    small.record(loan_plans[:3], **TERMS)
    checkpoint = small.checkpoint(KEY)
    small.record(loan_plans[3:6], **TERMS)
    assert small.verify(checkpoint, KEY).ok
    with pytest.raises(InvalidInputError):
        small.record(loan_plans[6:9], **TERMS, options={"nobody": 1})
    assert small.verify(small.checkpoint(KEY), KEY).ok


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE terms SET content = '{'",
        "UPDATE terms SET valid_until = '9999-99-99'",
        "UPDATE events SET content = '[]'",
        "UPDATE personal SET content = '{}'",
        "UPDATE layouts SET content = CAST('x' AS BLOB)",
        "UPDATE personal SET content = replace(content, 'row\":[', 'row\":[1,')",
    ],
)
def test_a_damaged_ledger_is_said_in_one_line_by_every_call(small, loan_plans, statement):
    small.record(loan_plans[:3], **TERMS)
    with small._database.engine.connect().execution_options(copa_writes=True) as connection, connection.begin():
        connection.exec_driver_sql(statement)
    with pytest.raises(DataError) as refusal:
        small.promises(as_of=IN_TIME)
    assert "\n" not in str(refusal.value)
    assert not small.verify().ok
