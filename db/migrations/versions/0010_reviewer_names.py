"""One reviewer for all spellings of a name, and merged people.

If names differ only in case, the first reviewer gets the key. The others have no key, and stay
separate until somebody merges them.
"""

import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("reviewer", sa.Column("key", sa.String(240), nullable=True))
    # Alembic would copy the table on SQLite, which the rows that refer to it forbid.
    op.execute(
        "ALTER TABLE reviewer ADD COLUMN merged_into_id INTEGER"
        " CONSTRAINT fk_reviewer_merged_into_id REFERENCES reviewer (id)"
    )
    reviewer = sa.table("reviewer", sa.column("id"), sa.column("name"), sa.column("key"))
    seen: set[str] = set()
    connection = op.get_bind()
    for number, name in connection.execute(
        sa.select(reviewer.c.id, reviewer.c.name).order_by(reviewer.c.id)
    ).all():
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
        if key not in seen:
            seen.add(key)
            connection.execute(sa.update(reviewer).where(reviewer.c.id == number).values(key=key))
    op.create_index("ix_reviewer_key", "reviewer", ["key"], unique=True)
    op.create_index("ix_reviewer_merged_into_id", "reviewer", ["merged_into_id"])
