"""Notes that their writers have retracted."""

import sqlalchemy as sa
from alembic import op

from db.columns import UtcDateTime
from db.migrations.triggers import refuse_changes

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "note_retraction",
        sa.Column("note_id", sa.Integer(), nullable=False),
        sa.Column("retracted_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["note_id"], ["note.id"], name="fk_note_retraction_note_id"),
        sa.PrimaryKeyConstraint("note_id", name="pk_note_retraction"),
    )
    op.create_index("ix_note_reviewer_id_id", "note", ["reviewer_id", "id"])
    refuse_changes("note_retraction")
