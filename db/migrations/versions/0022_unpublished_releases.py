"""Items of a release that is not published yet, whose number is negative, can be deleted.

So that a release can be written in pieces, and an interrupted one be removed.
"""

from alembic import op

revision = "0022"
down_revision = "0021"

_NUMBER = "(SELECT number FROM release WHERE id = OLD.release_id)"
_MESSAGE = "rows of release_item are append-only"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER release_item_no_delete")
        op.execute(
            f"CREATE TRIGGER release_item_no_delete BEFORE DELETE ON release_item "
            f"WHEN coalesce({_NUMBER}, 1) > 0 BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END"
        )
        return
    op.execute(
        f"CREATE OR REPLACE FUNCTION release_item_append_only() RETURNS trigger LANGUAGE plpgsql "
        f"AS $$ BEGIN IF TG_OP = 'DELETE' AND {_NUMBER} < 0 THEN RETURN OLD; END IF; "
        f"RAISE EXCEPTION '{_MESSAGE}'; END $$"
    )
