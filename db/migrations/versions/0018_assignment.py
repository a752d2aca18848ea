"""The people who have decided on an assigned variant, and quotas."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_ORDERS = ("id", "suspicion", "hardness", "random_key", "doubt")


def upgrade() -> None:
    op.add_column(
        "variant",
        sa.Column("verdicts_by", sa.String(80), nullable=False, server_default=sa.text("''")),
    )
    for order in _ORDERS:
        op.create_index(
            f"ix_variant_begun_{order}",
            "variant",
            list(dict.fromkeys(["verdicts_by", "type_id", "source_id", order, "id"])),
            sqlite_where=sa.text("verdicts_by != '' AND retired IS 0"),
            postgresql_where=sa.text("verdicts_by != '' AND retired IS false"),
        )
    op.create_table(
        "quota",
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("type_id", sa.String(40), nullable=False),
        sa.Column("variants", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_quota_reviewer_id"),
        sa.PrimaryKeyConstraint("reviewer_id", "type_id", name="pk_quota"),
    )
