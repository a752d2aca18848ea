"""Families: an anchor with all its variants, and a batch of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Role(IntEnum):
    """Role of a text in relation to its family's anchor."""

    ANCHOR = 0
    PARAPHRASE = 1
    HEDGE = 2
    UNSUPPORTED = 3
    NEGATION = 4


POSITIVE = (Role.PARAPHRASE, Role.HEDGE)
"""The roles that state the same proposition as the anchor."""

LEVELS = (Role.PARAPHRASE, Role.HEDGE, Role.UNSUPPORTED, Role.NEGATION)
"""The roles of variants, from the one that should be closest to the anchor."""


class Member(NamedTuple):
    """A text of a family.

    Attributes:
        type_id: the variant type; empty for an anchor.
        source: the name of an anchor's source; empty for a variant.
    """

    text: str
    role: Role
    type_id: str = ""
    source: str = ""


Family = Sequence[Member]
"""The anchor, then its variants."""


def has_contrast(family: Family) -> bool:
    """Whether the family has at least one positive and one negation."""
    roles = {member.role for member in family}
    return Role.NEGATION in roles and not roles.isdisjoint(POSITIVE)


class Batch(NamedTuple):
    """The families of a step, flattened: one row per occurrence, pointing to a distinct text.

    Attributes:
        texts: the distinct texts, in the order of their embeddings.
        text: (rows,) index of each row's text in ``texts``.
        family: (rows,) number of each row's family.
        role: (rows,) ``Role`` of each row's text.
    """

    texts: list[str]
    text: Tensor
    family: Tensor
    role: Tensor


def flatten(families: Sequence[Family]) -> Batch:
    """Flatten families into a batch, on the CPU."""
    import torch

    places: dict[str, int] = {}
    rows = [
        (places.setdefault(member.text, len(places)), number, int(member.role))
        for number, members in enumerate(families)
        for member in members
    ]
    text, family, role = torch.tensor(rows, dtype=torch.long).T
    return Batch(list(places), text, family, role)
