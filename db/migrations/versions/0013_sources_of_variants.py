"""The source of each variant: a kept column, filled here, and in the index of every queue."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_PENDING = {
    "sqlite_where": sa.text("status = 'pending' AND retired IS 0"),
    "postgresql_where": sa.text("status = 'pending' AND retired IS false"),
}
_MODEL_ONLY = {
    "sqlite_where": sa.text("model_only IS NOT 0 AND retired IS 0"),
    "postgresql_where": sa.text("model_only IS true AND retired IS false"),
}
_QUEUES = [
    ("queue", _PENDING, ("suspicion", "hardness", "random_key", "doubt")),
    ("model_only", _MODEL_ONLY, ("id", "suspicion", "hardness", "random_key", "doubt")),
]


def upgrade() -> None:
    op.add_column(
        "variant", sa.Column("source_id", sa.Integer(), nullable=False, server_default="0")
    )
    names = [f"ix_variant_{queue}_{order}" for queue, _, orders in _QUEUES for order in orders]
    for name in ("ix_variant_status", *names):  # before all rows change, which they would slow
        op.drop_index(name, "variant")
    op.execute(
        "UPDATE variant SET source_id ="
        " (SELECT anchor.source_id FROM anchor WHERE anchor.id = variant.anchor_id)"
    )
    op.create_index(
        "ix_variant_status", "variant", ["status", "retired", "type_id", "source_id", "id"]
    )
    for queue, rows, orders in _QUEUES:
        for order in orders:
            columns = list(dict.fromkeys(["type_id", "source_id", order, "id"]))
            op.create_index(f"ix_variant_{queue}_{order}", "variant", columns, **rows)
