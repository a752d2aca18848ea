"""Marks on cards to discuss, and an index of the settlements."""

import sqlalchemy as sa
from alembic import op

from db.columns import UtcDateTime
from db.migrations.triggers import refuse_changes

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "discuss_mark",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("of_id", sa.Integer(), nullable=True),
        sa.Column("remark", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["of_id"], ["discuss_mark.id"], name="fk_discuss_mark_of_id"),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["reviewer.id"], name="fk_discuss_mark_reviewer_id"
        ),
        sa.ForeignKeyConstraint(["variant_id"], ["variant.id"], name="fk_discuss_mark_variant_id"),
        sa.PrimaryKeyConstraint("id", name="pk_discuss_mark"),
    )
    op.create_index("ix_discuss_mark_variant_id_id", "discuss_mark", ["variant_id", "id"])
    op.create_index("ix_discuss_mark_reviewer_id_id", "discuss_mark", ["reviewer_id", "id"])
    is_set = sa.text("of_id IS NOT NULL")
    op.create_index(
        "ix_discuss_mark_of_id",
        "discuss_mark",
        ["of_id"],
        sqlite_where=is_set,
        postgresql_where=is_set,
    )
    refuse_changes("discuss_mark")
    op.create_index(
        "ix_decision_settlements",
        "decision",
        ["id"],
        sqlite_where=sa.text("adjudicates = 1"),
        postgresql_where=sa.text("adjudicates"),
    )
