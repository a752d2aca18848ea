"""The scoring of a result: the similarity and the prompts.

Existing results were scored by the cosine, with the models' own prompts.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_UNIQUE = "uq_benchmark_result_measured"
_INDEX = "ix_benchmark_result_model_architecture_benchmark_data_hash_id"
_NEW_INDEX = "ix_benchmark_result_newest"
_KEY = ["model", "architecture", "scoring", "benchmark", "data_hash"]


def upgrade() -> None:
    op.drop_index(_INDEX, "benchmark_result")
    # SQLite can't change a constraint. No other table references this one, so it can be copied.
    with op.batch_alter_table("benchmark_result") as result:
        result.add_column(sa.Column("scoring", sa.String(40), nullable=False, server_default=""))
        result.drop_constraint(_UNIQUE, type_="unique")
        result.create_unique_constraint(_UNIQUE, ["run_id", *_KEY])
    op.create_index(_NEW_INDEX, "benchmark_result", [*_KEY, "id"])
