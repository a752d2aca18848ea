"""Questions to a person before a text is saved."""

from typing import NamedTuple


class Concern(NamedTuple):
    """Something to think about before saving.

    Attributes:
        kind: the flag, or ``draft_checks.TWIN``; asking once covers all concerns of a kind.
        variant_id: the variant that the sentence is about, if there is one.
    """

    kind: str
    sentence: str
    variant_id: int | None = None
