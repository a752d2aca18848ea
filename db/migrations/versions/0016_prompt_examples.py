"""Examples in prompts: variants that people accepted, stored with the prompt's version."""

import sqlalchemy as sa
from alembic import op

from db.columns import JsonColumn

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column(
        "prompt_version",
        sa.Column("examples", JsonColumn, nullable=False, server_default=sa.text("'[]'")),
    )
