"""Reviewers' positions and drafts."""

import sqlalchemy as sa
from alembic import op

from db.columns import JsonColumn, UtcDateTime

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "review_position",
        sa.Column("window", sa.String(400), nullable=False),
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=True),
        sa.Column("place", JsonColumn, nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["reviewer.id"], name="fk_review_position_reviewer_id"
        ),
        sa.ForeignKeyConstraint(
            ["variant_id"], ["variant.id"], name="fk_review_position_variant_id"
        ),
        sa.PrimaryKeyConstraint("window", name="pk_review_position"),
    )
    op.create_table(
        "draft",
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("fields", JsonColumn, nullable=False),
        sa.Column("typed_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_draft_reviewer_id"),
        sa.ForeignKeyConstraint(["variant_id"], ["variant.id"], name="fk_draft_variant_id"),
        sa.PrimaryKeyConstraint("reviewer_id", "variant_id", "kind", name="pk_draft"),
    )
