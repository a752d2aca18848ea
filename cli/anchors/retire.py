"""Retire and restore anchors."""

from cli.anchors.named import Uids, show_changed
from cli.shared.home import open_home
from cli.shared.terminal import AsJson
from hedgerow.data.anchor_changes import set_retired


def retire(uids: Uids, as_json: AsJson = False) -> None:
    """Retire anchors and their variants. Decisions and existing releases are kept."""
    _set_retired(uids, True, as_json)


def restore(uids: Uids, as_json: AsJson = False) -> None:
    """Restore retired anchors and their variants."""
    _set_retired(uids, False, as_json)


def _set_retired(uids: list[str], retired: bool, as_json: bool) -> None:
    done = set_retired(open_home(), uids, retired=retired)
    verb, before = ("retired", "retired") if retired else ("restored", "in use")
    show_changed(done, as_json, verb, before, {"retired": retired})
