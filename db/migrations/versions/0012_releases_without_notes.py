"""Remove the notes of releases: no page and no command ever stored one."""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.drop_column("release", "note")
