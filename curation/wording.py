"""An anchor's wordings: a correction adds one, and the current one is what everything goes by.

Variants keep the revision they were made for, as a record of where they come from. They are shown,
measured and released beside the current wording, which is the only one that still holds.
"""

from typing import Any

from sqlmodel import col

from db.models import Anchor, AnchorRevision


def current_wording() -> Any:
    """SQL: the revision is its anchor's current one. For a join where ``Anchor`` is there."""
    return (col(AnchorRevision.anchor_id) == col(Anchor.id)) & (
        col(AnchorRevision.revision) == col(Anchor.revision)
    )
