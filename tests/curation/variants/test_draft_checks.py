"""The checks of a text before it is stored."""

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col

from curation.review import actions
from curation.review.actions import shown
from curation.variants.cue_choice import CueWanted
from curation.variants.draft_checks import TWIN, check_edit, check_own
from curation.variants.edits import MAX_TEXT
from curation.variants.own import AlreadyThere
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Decision, Variant
from tests.support.factories import TEXTS, add_family, person


@pytest.fixture
def ids(engine: Engine) -> dict[str, int]:
    """Type → id of one family's variants."""
    with writing(engine) as session:
        person(session)
        return {key: variant.id for key, variant in add_family(session).items()}


@pytest.mark.parametrize(
    ("type_id", "text", "kind", "message"),
    [
        ("verbal", "The bridge isn't safe" + " at all" * 12 + ".", "OVER_THRESHOLD", "is 60"),
        ("verbal", "The bridge is unsafe, they say.", "WRONG_SURFACE", "No new verbal negator"),
        ("verbal", "It is not safe.", "CONTENT_DROPPED", "are missing: 'bridge'"),
        ("verbal", "The bridge is SAFE!", "UNCHANGED", "same words as the anchor"),
        (
            "verbal",
            "The bridge is unsafe!",
            "SAME_AS_SIBLING",
            "anchor's variant 'Affixal negation'",
        ),
        ("phrase", "The footage is not clear, but the bridge is safe.", "FLAT_HEDGE", "concession"),
        ("word", "Critics suspect that the bridge is safe.", "REPORTS_OTHERS", "others"),
    ],
)
def test_each_flag_is_a_sentence_for_edits_and_own_variants(
    engine: Engine, ids: dict[str, int], type_id: str, text: str, kind: str, message: str
) -> None:
    with reading(engine) as session:
        edit = check_edit(session, ids[type_id], text=text, cue="sure, but")
        own = check_own(session, 1, type_id=type_id, text=text, cue="sure, but")
    for draft in (edit, own):
        assert message in {c.kind: c.sentence for c in draft.concerns}[kind]


def test_a_text_that_the_checks_pass_raises_no_concern(engine: Engine, ids: dict[str, int]) -> None:
    with reading(engine) as session:
        assert check_edit(session, ids["verbal"], text="The bridge isn't safe.").concerns == ()
        # The edited variant itself is not a sibling of its new text.
        assert check_edit(session, ids["verbal"], text="The bridge is not safe!").concerns == ()
        assert (
            check_own(session, 1, type_id="word", text="Maybe the bridge is safe.").cue == "maybe"
        )
        assert session.execute(select(func.count()).select_from(Decision)).scalar() == 0


def test_an_edit_into_a_sibling_of_the_same_type_names_it(
    engine: Engine, ids: dict[str, int]
) -> None:
    with reading(engine) as session:
        draft = check_edit(session, ids["verbal"], text=TEXTS["affixal"], type_id="affixal")
        (twin,) = draft.concerns
        assert (twin.kind, twin.variant_id) == (TWIN, ids["affixal"])
        with pytest.raises(AlreadyThere):
            check_own(session, 1, type_id="affixal", text=TEXTS["affixal"])


def test_an_edit_repeated_after_an_undo_is_not_a_duplicate(
    engine: Engine, ids: dict[str, int]
) -> None:
    text = "The bridge isn't safe."
    with writing(engine) as session:
        ada = person(session)
        card = shown(session.get_one(Variant, ids["verbal"]))
        actions.edit(session, card, reviewer_id=ada, text=text)
        actions.undo(session, reviewer_id=ada)
    with reading(engine) as session:
        assert check_edit(session, ids["verbal"], text=text).concerns == ()


def test_the_preview_refuses_what_saving_would_and_asks_for_a_missing_cue(
    engine: Engine, ids: dict[str, int]
) -> None:
    with reading(engine) as session:
        for text in ("", "x" * (MAX_TEXT + 1), "The bridge is safe."):
            with pytest.raises(HedgerowError):
                check_edit(session, ids["verbal"], text=text)
        with pytest.raises(CueWanted):
            check_edit(session, ids["verbal"], type_id="word")
        stored = select(func.count()).where(col(Variant.id) > 0)
        assert session.execute(stored).scalar() == len(TEXTS)
