"""Whether an answer's tokens were estimated, because its server reported none."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column(
        "answer", sa.Column("is_estimate", sa.Boolean(), nullable=False, server_default=sa.false())
    )
