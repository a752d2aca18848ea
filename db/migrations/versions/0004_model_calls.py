"""Calls to language models, stored before they are made; second opinions; pausing runs."""

import sqlalchemy as sa
from alembic import op

from db.columns import JsonColumn, UtcDateTime
from db.migrations.triggers import refuse_changes

revision = "0004"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "model_call",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(80), nullable=False),
        sa.Column("role", sa.String(40), nullable=False),
        sa.Column("anchor_id", sa.Integer(), nullable=False),
        sa.Column("anchor_revision", sa.Integer(), nullable=False),
        sa.Column("prompt_version_id", sa.Integer(), nullable=False),
        sa.Column("type_ids", JsonColumn, nullable=False),
        sa.Column("cues", JsonColumn, nullable=False),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("problem", sa.String(40), nullable=False),
        sa.Column("batch", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_model_call_run_id"),
        sa.ForeignKeyConstraint(
            ["prompt_version_id"], ["prompt_version.id"], name="fk_model_call_prompt_version_id"
        ),
        sa.ForeignKeyConstraint(
            ["anchor_id", "anchor_revision"],
            ["anchor_revision.anchor_id", "anchor_revision.revision"],
            name="fk_model_call_anchor_id_anchor_revision",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_model_call"),
        sa.UniqueConstraint("run_id", "key", name="uq_model_call_run_id_key"),
    )
    op.create_index("ix_model_call_run_id_state_id", "model_call", ["run_id", "state", "id"])
    op.create_index("ix_model_call_anchor_id", "model_call", ["anchor_id"])
    with op.batch_alter_table("answer") as answer:
        answer.add_column(
            sa.Column(
                "call_id",
                sa.Integer(),
                sa.ForeignKey("model_call.id", name="fk_answer_call_id"),
                nullable=True,
            )
        )
        answer.add_column(sa.Column("seconds", sa.Float(), nullable=True))
    op.create_index("ix_answer_call_id", "answer", ["call_id"])
    op.add_column(
        "run", sa.Column("pause_requested", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    _opinions()


def _opinions() -> None:
    op.create_table(
        "opinion",
        sa.Column("decision_id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("since_version", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(32), nullable=False),
        sa.Column("suggestion", sa.Text(), nullable=False),
        sa.Column("certainty", sa.Float(), nullable=True),
        sa.Column("answer_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["decision_id"], ["decision.id"], name="fk_opinion_decision_id"),
        sa.ForeignKeyConstraint(["variant_id"], ["variant.id"], name="fk_opinion_variant_id"),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_opinion_reviewer_id"),
        sa.ForeignKeyConstraint(["answer_id"], ["answer.id"], name="fk_opinion_answer_id"),
        sa.PrimaryKeyConstraint("decision_id", name="pk_opinion"),
        sa.UniqueConstraint(
            "variant_id",
            "reviewer_id",
            "since_version",
            name="uq_opinion_variant_id_reviewer_id_since_version",
        ),
    )
    refuse_changes("opinion")
    op.create_table(
        "opinion_look",
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["reviewer.id"], name="fk_opinion_look_reviewer_id"
        ),
        sa.ForeignKeyConstraint(["variant_id"], ["variant.id"], name="fk_opinion_look_variant_id"),
        sa.PrimaryKeyConstraint("reviewer_id", "variant_id", name="pk_opinion_look"),
    )
    op.add_column(
        "variant", sa.Column("doubt", sa.Float(), nullable=False, server_default=sa.text("0"))
    )
    op.create_index(
        "ix_variant_queue_doubt",
        "variant",
        ["type_id", "doubt", "id"],
        sqlite_where=sa.text("status = 'pending' AND retired IS 0"),
        postgresql_where=sa.text("status = 'pending' AND retired IS false"),
    )
