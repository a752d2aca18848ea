"""Gold items, and answers in practice rounds."""

import sqlalchemy as sa
from alembic import op

from db.columns import UtcDateTime

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "gold_item",
        sa.Column("decision_id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("use", sa.String(32), nullable=False),
        sa.Column("explanation", sa.Text(), nullable=False),
        sa.Column("removed_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["decision_id"], ["decision.id"], name="fk_gold_item_decision_id"),
        sa.ForeignKeyConstraint(["variant_id"], ["variant.id"], name="fk_gold_item_variant_id"),
        sa.PrimaryKeyConstraint("decision_id", name="pk_gold_item"),
    )
    op.create_index("ix_gold_item_variant_id", "gold_item", ["variant_id"])
    op.create_table(
        "practice_answer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("gold_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(32), nullable=False),
        sa.Column("reason", sa.String(40), nullable=False),
        sa.Column("answered_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["gold_id"], ["gold_item.decision_id"], name="fk_practice_answer_gold_id"
        ),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["reviewer.id"], name="fk_practice_answer_reviewer_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_practice_answer"),
        sa.UniqueConstraint(
            "reviewer_id", "round", "gold_id", name="uq_practice_answer_reviewer_id_round_gold_id"
        ),
    )
