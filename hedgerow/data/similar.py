"""The variants that are most similar to a given variant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from curation.review.actions import find_variant
from curation.similar import similar_variants
from db.engine import reading
from hedgerow.asked import uid as one_uid
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("uid", "cosine", "type", "status", "text")


def similar(home: Home, uid: str, limit: int) -> pd.DataFrame:
    """See `hedgerow.Project.similar_variants`."""
    import pandas as pd

    from curation.similar import KIND as EMBED
    from hedgerow.running import carry_out_one

    with reading(home.engine) as session:
        variant = find_variant(session, one_uid(uid))
        found = similar_variants(session, home.settings, variant, limit=limit)
    if found.missing:
        carry_out_one(home.settings, home.engine, EMBED, {})
        with reading(home.engine) as session:
            found = similar_variants(session, home.settings, variant, limit=limit)
    rows = [
        (one.hit.variant_uid, one.cosine, one.hit.type_id, one.hit.status, one.hit.text)
        for one in found.found or ()
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))
