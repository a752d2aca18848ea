"""Leases of the cards on reviewers' screens."""

import sqlalchemy as sa
from alembic import op

from db.columns import UtcDateTime

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "lease",
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("window", sa.String(400), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_lease_reviewer_id"),
        sa.ForeignKeyConstraint(["variant_id"], ["variant.id"], name="fk_lease_variant_id"),
        sa.PrimaryKeyConstraint("variant_id", name="pk_lease"),
    )
