"""The cue with which a hedge is stored."""

import pytest

from curation.taxonomy.built_in import TAXONOMY
from curation.variants.cue_choice import CueWanted, choose_cue
from db.errors import HedgerowError

WORD = next(entry for entry in TAXONOMY if entry.id == "word")


@pytest.mark.parametrize(
    ("anchor", "text", "proposed"),
    [
        ("The car is moving.", "The car isn't moving.", ""),
        ("The car is moving.", "The car is not moving.", ""),
        ("They moved.", "They've moved.", ""),
        ("The car is moving.", "The car isn't moving, one hears.", "one hears"),
        ("The car is moving.", "The car is not hugely moving.", "not hugely"),
    ],
)
def test_neither_a_clitic_nor_a_negator_is_proposed(anchor: str, text: str, proposed: str) -> None:
    with pytest.raises(CueWanted) as wanted:
        choose_cue(WORD, TAXONOMY, anchor=anchor, text=text)
    assert wanted.value.proposed == proposed


@pytest.mark.parametrize("cue", ["not", "n't", "never", "no"])
def test_a_mere_negator_is_refused_as_a_cue(cue: str) -> None:
    with pytest.raises(HedgerowError, match="is a negator, not a hedge"):
        choose_cue(WORD, TAXONOMY, anchor="It moves.", text="It moves not.", named=cue)
