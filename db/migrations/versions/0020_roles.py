"""Roles, and identities for sign-in. Existing people become leads."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column(
        "reviewer", sa.Column("role", sa.String(32), nullable=False, server_default="lead")
    )
    op.add_column("reviewer", sa.Column("identity", sa.String(400), nullable=True))
    op.create_index("ix_reviewer_identity", "reviewer", ["identity"], unique=True)
