"""Where an anchor stood in its file: the ids of its row and of its document."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    for table in ("anchor", "release_item"):
        for name in ("document_id", "row_id"):
            op.add_column(table, sa.Column(name, sa.String(200), nullable=False, server_default=""))
    op.create_index(
        "ix_anchor_source_id_document_id",
        "anchor",
        ["source_id", "document_id"],
        sqlite_where=sa.text("document_id <> ''"),
        postgresql_where=sa.text("document_id <> ''"),
    )
