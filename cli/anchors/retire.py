"""Taking anchors out of use, and into use again."""

from cli.anchors.named import Uids, ids_of, show_changed
from cli.shared.home import open_home
from cli.shared.terminal import AsJson
from curation.anchors.changes import (
    restore_anchors,
    retire_anchors,
)
from db.engine import writing


def retire(uids: Uids, as_json: AsJson = False) -> None:
    """Take anchors and their variants out of use; decisions and earlier releases stay."""
    _set_retired(uids, True, as_json)


def restore(uids: Uids, as_json: AsJson = False) -> None:
    """Take retired anchors and their variants into use again, as they were."""
    _set_retired(uids, False, as_json)


def _set_retired(uids: list[str], retired: bool, as_json: bool) -> None:
    _, engine = open_home()
    with writing(engine) as session:
        ids = ids_of(session, uids)
        changed = set((retire_anchors if retired else restore_anchors)(session, ids.values()))
    done, before = ("retired", "retired") if retired else ("restored", "in use")
    show_changed(ids, changed, as_json, done, before, {"retired": retired})
