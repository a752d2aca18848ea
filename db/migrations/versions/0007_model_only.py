"""Variants accepted by models only: a derived column, filled here, and an index per order."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_ORDERS = ("id", "suspicion", "hardness", "random_key", "doubt")

_FILL = """
UPDATE variant SET model_only = true
WHERE status = 'accepted' AND NOT EXISTS (
    SELECT 1 FROM decision
    JOIN reviewer ON reviewer.id = decision.reviewer_id AND reviewer.kind = 'person'
    WHERE decision.variant_id = variant.id
    AND decision.verdict <> 'retract'
    AND decision.variant_version >= variant.since_version
    AND NOT EXISTS (SELECT 1 FROM decision later WHERE later.retracts_id = decision.id)
)
"""
"""Accepted, without a person's current verdict since the anchor's latest correction."""


def upgrade() -> None:
    op.add_column(
        "variant",
        sa.Column("model_only", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.execute(_FILL)
    for order in _ORDERS:
        op.create_index(
            f"ix_variant_model_only_{order}",
            "variant",
            list(dict.fromkeys(["type_id", order, "id"])),
            sqlite_where=sa.text("model_only IS NOT 0 AND retired IS 0"),
            postgresql_where=sa.text("model_only IS true AND retired IS false"),
        )
