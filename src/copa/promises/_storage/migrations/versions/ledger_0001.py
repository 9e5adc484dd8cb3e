"""The tables of the first version."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

CLOSED = "kind IN ('kept', 'broken', 'expired', 'waived', 'superseded')"


def upgrade() -> None:
    """Make the tables of an empty ledger; `copa.promises._storage.tables` says what they hold."""
    op.create_table(
        "head",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
    )
    op.create_table(
        "layouts",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "terms",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("layout", sa.Integer, sa.ForeignKey("layouts.id"), nullable=False),
        sa.Column("model_version", sa.Text, nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("valid_until", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("promise", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("recorded_by", sa.Text, nullable=False),
        sa.Column("terms", sa.Integer, sa.ForeignKey("terms.id")),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("personal", sa.Text),
        sa.Column("digest", sa.Text, nullable=False),
    )
    op.create_table(
        "personal",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            sa.ForeignKey("events.seq"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("salt", sa.Text, nullable=False),
        sa.Column("applicant", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("identity", sa.Text),
    )
    op.create_index("events_of_promise", "events", ["promise"])
    op.create_index(
        "one_end_of_a_promise",
        "events",
        ["promise"],
        unique=True,
        sqlite_where=sa.text(CLOSED),
        postgresql_where=sa.text(CLOSED),
    )
    op.create_index("promises_of_applicant", "personal", ["applicant"])
    op.create_index("one_promise_of_its_kind", "personal", ["identity"], unique=True)
