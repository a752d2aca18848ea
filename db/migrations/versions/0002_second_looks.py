"""Second looks after corrections of anchors, notes, cue corrections, blind decisions."""

import sqlalchemy as sa
from alembic import op

from db.columns import UtcDateTime
from db.migrations.triggers import refuse_changes

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column(
        "variant",
        sa.Column("since_version", sa.Integer(), nullable=False, server_default=sa.text("1")),
    )
    op.add_column(
        "variant",
        sa.Column("second_look", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.create_index(
        "ix_variant_second_look",
        "variant",
        ["type_id", "id"],
        sqlite_where=sa.text("second_look IS NOT 0"),
        postgresql_where=sa.text("second_look IS true"),
    )
    op.add_column(
        "decision", sa.Column("blind", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.create_table(
        "note",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_note_reviewer_id"),
        sa.ForeignKeyConstraint(["variant_id"], ["variant.id"], name="fk_note_variant_id"),
        sa.PrimaryKeyConstraint("id", name="pk_note"),
    )
    op.create_index("ix_note_variant_id_id", "note", ["variant_id", "id"])
    op.create_table(
        "cue_correction",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("action_id", sa.String(36), nullable=False),
        sa.Column("before", sa.String(200), nullable=True),
        sa.Column("after", sa.String(200), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["reviewer.id"], name="fk_cue_correction_reviewer_id"
        ),
        sa.ForeignKeyConstraint(
            ["variant_id"], ["variant.id"], name="fk_cue_correction_variant_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_cue_correction"),
    )
    op.create_index("ix_cue_correction_variant_id_id", "cue_correction", ["variant_id", "id"])
    op.create_index("ix_cue_correction_action_id", "cue_correction", ["action_id"])
    for table in ("note", "cue_correction"):
        refuse_changes(table)
