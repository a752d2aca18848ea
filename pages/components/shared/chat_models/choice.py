"""What is asked of a chat model: which calls, for which anchors."""

from typing import NamedTuple

from curation.generation.prompts import PromptName
from curation.generation.request import AnchorSelection
from curation.taxonomy.built_in import Role

MAX_SEED = 2**31 - 1

CALLS: dict[PromptName, str] = {
    "negation": "Negations",
    "hedge": "Hedges",
    "paraphrase": "Paraphrases",
}
"""The calls as the pages name them."""


class Choice(NamedTuple):
    """Which anchors, which calls, and the seed that draws sample and cues."""

    selection: AnchorSelection
    roles: tuple[Role, ...]
    seed: int
