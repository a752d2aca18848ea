"""Alembic's entry: runs the migrations on the connection that ``db.migrate`` hands over."""

from alembic import context
from sqlmodel import SQLModel

import db.models  # noqa: F401 (registers the tables)

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
