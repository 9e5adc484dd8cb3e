"""The tables of a ledger, as SQLAlchemy knows them; the modules in `migrations` make them.

No fact is stored twice. What a query needs is a column, and the digest of an event is taken from the columns
themselves, so that there is no copy beside the chain which could say something else. The exceptions are `head`, which
repeats the last event so that writers have one row to wait for, and `personal.identity`, by which a promise that is
recorded again is found; `verify` computes both anew.

head
    One row: name of the ledger, when it was made, number and digest of the last event.
layouts
    Columns and dtypes of promised rows, as a table without rows.
terms
    What the promises of a batch have in common: the model, the dates, the schema.
events
    The chain.
personal
    What an event says of a person: the only table that `purge` deletes from. The event holds a salted digest of it.
"""

import sqlalchemy as sa

VERSION = "0001"  # of the tables, which is the newest migration

PROMISED, REDEEMED, KEPT, BROKEN = "promised", "redeemed", "kept", "broken"
EXPIRED, WAIVED, SUPERSEDED = "expired", "waived", "superseded"
DECIDED, PURGED = "decided", "purged"
CLOSING = (KEPT, BROKEN, EXPIRED, WAIVED, SUPERSEDED)  # kinds of events after which a promise binds no more
OPEN, ALL = "open", "all"
STATUSES = (OPEN, *CLOSING)

metadata = sa.MetaData()
SEQ = sa.BigInteger()

head = sa.Table(
    "head",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("created", sa.Text),
    sa.Column("seq", SEQ),
    sa.Column("digest", sa.Text),
)
layouts = sa.Table(
    "layouts", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("content", sa.LargeBinary)
)
terms = sa.Table(
    "terms",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("layout", sa.Integer),
    sa.Column("model_version", sa.Text),
    sa.Column("made", sa.Text),
    sa.Column("valid_until", sa.Text),
    sa.Column("content", sa.Text),
)
events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", SEQ, primary_key=True),
    sa.Column("kind", sa.Text),
    sa.Column("promise", sa.Text),
    sa.Column("at", sa.Text),
    sa.Column("recorded_by", sa.Text),
    sa.Column("terms", sa.Integer),
    sa.Column("content", sa.Text),
    sa.Column("personal", sa.Text),
    sa.Column("digest", sa.Text),
)
personal = sa.Table(
    "personal",
    metadata,
    sa.Column("seq", SEQ, primary_key=True),
    sa.Column("salt", sa.Text),
    sa.Column("applicant", sa.Text),
    sa.Column("content", sa.Text),
    sa.Column("identity", sa.Text),
)
version = sa.Table("alembic_version", metadata, sa.Column("version_num", sa.String(32), primary_key=True))


# Whether the event `closing` ends a promise, in the words of the index that finds it: with values, not parameters.
IS_CLOSING = sa.text("closing.kind IN ({})".format(", ".join(f"'{kind}'" for kind in CLOSING)))
