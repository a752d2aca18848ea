"""Results of models in benchmarks."""

import sqlalchemy as sa
from alembic import op

from db.columns import JsonColumn, UtcDateTime

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "benchmark_result",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("benchmark", sa.String(120), nullable=False),
        sa.Column("model", sa.String(300), nullable=False),
        sa.Column("model_hash", sa.String(64), nullable=False),
        sa.Column("architecture", sa.String(40), nullable=False),
        sa.Column("data", sa.String(300), nullable=False),
        sa.Column("data_hash", sa.String(64), nullable=False),
        sa.Column("metric", sa.String(80), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("ties", sa.Integer(), nullable=False),
        sa.Column("unanswered", sa.Integer(), nullable=False),
        sa.Column("summary", JsonColumn, nullable=False),
        sa.Column("file", sa.String(500), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_benchmark_result_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_benchmark_result"),
        sa.UniqueConstraint(
            "run_id",
            "model",
            "architecture",
            "benchmark",
            "data_hash",
            name="uq_benchmark_result_measured",
        ),
    )
    op.create_index(
        "ix_benchmark_result_model_architecture_benchmark_data_hash_id",
        "benchmark_result",
        ["model", "architecture", "benchmark", "data_hash", "id"],
    )
