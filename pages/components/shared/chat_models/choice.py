"""What is asked of a chat model: which calls, for which anchors."""

from typing import NamedTuple

from curation.generation.request import AnchorSelection
from curation.taxonomy.roles import Role

MAX_SEED = 2**31 - 1


class Choice(NamedTuple):
    """Which anchors, which calls, and the seed that draws sample and cues."""

    selection: AnchorSelection
    roles: tuple[Role, ...]
    seed: int
