"""The source of each variant: a derived column, filled here, and part of every queue's index."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_PENDING = ("status = 'pending' AND retired IS 0", "status = 'pending' AND retired IS false")
_MODEL_ONLY = ("model_only IS NOT 0 AND retired IS 0", "model_only IS true AND retired IS false")
"""On SQLite and on PostgreSQL."""

_QUEUES = [
    ("queue", _PENDING, ("suspicion", "hardness", "random_key", "doubt")),
    ("model_only", _MODEL_ONLY, ("id", "suspicion", "hardness", "random_key", "doubt")),
]


def upgrade() -> None:
    op.add_column(
        "variant", sa.Column("source_id", sa.Integer(), nullable=False, server_default="0")
    )
    names = [f"ix_variant_{queue}_{order}" for queue, _, orders in _QUEUES for order in orders]
    for name in ("ix_variant_status", *names):  # first: indexes would slow the update of all rows
        op.drop_index(name, "variant")
    op.execute(
        "UPDATE variant SET source_id ="
        " (SELECT anchor.source_id FROM anchor WHERE anchor.id = variant.anchor_id)"
    )
    op.create_index(
        "ix_variant_status", "variant", ["status", "retired", "type_id", "source_id", "id"]
    )
    for queue, (on_sqlite, on_postgresql), orders in _QUEUES:
        for order in orders:
            columns = list(dict.fromkeys(["type_id", "source_id", order, "id"]))
            op.create_index(
                f"ix_variant_{queue}_{order}",
                "variant",
                columns,
                sqlite_where=sa.text(on_sqlite),
                postgresql_where=sa.text(on_postgresql),
            )
