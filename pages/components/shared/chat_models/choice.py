"""The calls to a chat model, and the anchors that they are for."""

from typing import NamedTuple

from curation.generation.request import AnchorSelection
from curation.taxonomy.surface_check import Role

MAX_SEED = 2**31 - 1


class Choice(NamedTuple):
    """The anchors, the calls, and the seed of the sample and the cues."""

    selection: AnchorSelection
    roles: tuple[Role, ...]
    seed: int
