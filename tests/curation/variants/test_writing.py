"""Edits and people's own variants: checks, cues and types, and what an undo restores."""

import random
from functools import partial
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import SQLModel, col

from curation.decisions.history import history
from curation.diagnostics.measures import Flag
from curation.editing.anchors import correct_anchor, retire_anchor
from curation.editing.cues import CueWanted, choose_cue
from curation.editing.own_variants import AlreadyThere, write_variant
from curation.editing.variants import MAX_TEXT
from curation.review.deciding import ShownCard, accept, edit, reject, shown, undo
from curation.review.edit_preview import TWIN, check_edit, check_own
from curation.taxonomy.built_in import TAXONOMY
from db.errors import HedgerowError
from db.models import Anchor, CueCorrection, Decision, Diagnostic, ReleaseItem, Status, Variant
from tests.support.databases import both_databases
from tests.support.factories import TEXTS, add_anchor, add_family, add_variant, freeze, person

HEDGE = "The bridge is probably safe."
OWN = "The bridge isn't safe."
WORD = next(entry for entry in TAXONOMY if entry.id == "word")


@pytest.fixture
def ada(session: Session) -> int:
    """A family whose 'word' hedge names a cue that it does not use."""
    add_family(session)["word"].cue = "maybe"
    session.commit()
    return person(session)


def hedge(session: Session, type_id: str = "word") -> Variant:
    query = select(Variant).where(col(Variant.type_id) == type_id).order_by(col(Variant.id))
    return session.execute(query).scalars().first() or pytest.fail("no such variant")


def count(session: Session, table: type[SQLModel] = Decision) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()


def edited(session: Session, ada: int, original: str, **how: str) -> Variant:
    """The variant that replaces the family's edited variant of this type."""
    outcome = edit(session, shown(hedge(session, original)), reviewer_id=ada, **how)  # type: ignore[arg-type]
    return session.get_one(Variant, outcome.child_id)


def write(session: Session, ada: int, text: str = OWN, **more: Any) -> Variant:
    more = {"type_id": "verbal", "anchor_id": 1} | more
    return write_variant(session, reviewer_id=ada, text=text, **more).variant


def flags(session: Session, variant: Variant) -> Flag:
    session.expire_all()
    return Flag(session.get_one(Diagnostic, variant.id).flags)


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        ("The car isn't moving.", ""),
        ("The car is not moving.", ""),
        ("The car's stopped moving.", "stopped"),
        ("The car isn't moving, one hears.", "one hears"),
        ("The car is not hugely moving.", "not hugely"),
    ],
)
def test_neither_a_clitic_nor_a_negator_is_proposed(text: str, proposed: str) -> None:
    with pytest.raises(CueWanted) as wanted:
        choose_cue(WORD, TAXONOMY, anchor="The car is moving.", text=text)
    assert wanted.value.proposed == proposed


@pytest.mark.parametrize("cue", ["not", "n't", "never", "no"])
def test_a_mere_negator_is_refused_as_a_cue(cue: str) -> None:
    with pytest.raises(HedgerowError, match="is a negator, not a hedge"):
        choose_cue(WORD, TAXONOMY, anchor="It moves.", text="It moves not.", named=cue)


@pytest.mark.parametrize(
    ("type_id", "text", "kind", "fact"),
    [
        ("verbal", "The bridge isn't safe" + " at all" * 12 + ".", "OVER_THRESHOLD", "60"),
        ("verbal", "The bridge is unsafe, they say.", "WRONG_SURFACE", "verbal negator"),
        ("verbal", "It is not safe.", "CONTENT_DROPPED", "'bridge'"),
        ("verbal", "The bridge is SAFE!", "UNCHANGED", "anchor"),
        ("verbal", "The bridge is unsafe!", "SAME_AS_SIBLING", "'Affixal negation'"),
        ("phrase", "The footage is not clear, but the bridge is safe.", "FLAT_HEDGE", ""),
        ("word", "Critics suspect that the bridge is safe.", "REPORTS_OTHERS", ""),
    ],
)
def test_each_flag_is_a_concern_for_edits_and_own_variants(
    session: Session, ada: int, type_id: str, text: str, kind: str, fact: str
) -> None:
    edit_ = check_edit(session, hedge(session, type_id).id, text=text, cue="sure, but")
    own = check_own(session, 1, type_id=type_id, text=text, cue="sure, but")
    for draft in (edit_, own):
        assert fact in {c.kind: c.sentence for c in draft.concerns}[kind]


def test_a_text_that_the_checks_pass_raises_no_concern(session: Session, ada: int) -> None:
    verbal = hedge(session, "verbal")
    edit(session, shown(verbal), reviewer_id=ada, text=OWN)
    undo(session, reviewer_id=ada)
    # Neither an undone edit nor the edited variant itself is a sibling of its new text.
    for text in (OWN, "The bridge is not safe!"):
        assert check_edit(session, verbal.id, text=text).concerns == ()
    assert check_own(session, 1, type_id="word", text="Maybe the bridge is safe.").cue == "maybe"


def test_an_edit_into_a_sibling_of_the_same_type_names_it(session: Session, ada: int) -> None:
    text, sibling = TEXTS["affixal"], hedge(session, "affixal").id
    draft = check_edit(session, hedge(session, "verbal").id, text=text, type_id="affixal")
    (twin,) = draft.concerns
    assert (twin.kind, twin.variant_id) == (TWIN, sibling)
    for check in (partial(check_own, session, 1), partial(write, session, ada)):
        with pytest.raises(AlreadyThere) as there:
            check(type_id="affixal", text=text)
        assert there.value.variant_id == sibling


def test_the_preview_refuses_what_saving_would_and_asks_for_a_missing_cue(
    session: Session, ada: int
) -> None:
    verbal = hedge(session, "verbal").id
    for text in ("", "x" * (MAX_TEXT + 1), "The bridge is safe."):
        with pytest.raises(HedgerowError):
            check_edit(session, verbal, text=text)
    with pytest.raises(CueWanted):
        check_edit(session, verbal, type_id="word")
    assert (count(session, Variant), count(session)) == (len(TEXTS), 0)


def test_a_corrected_cue_accepts_the_same_variant_until_an_undo(session: Session, ada: int) -> None:
    variant = hedge(session)
    card = shown(variant, blind=True)
    outcome = edit(session, card, reviewer_id=ada, text=HEDGE, cue=" probably ", note="It says so.")
    assert outcome.recorded and outcome.child_id is None
    assert not edit(session, card, reviewer_id=ada, cue="likely").recorded
    assert (variant.cue, variant.status) == ("probably", Status.ACCEPTED)
    assert Flag.WRONG_SURFACE not in flags(session, variant)
    row = session.execute(select(CueCorrection)).scalar_one()
    assert (row.before, row.after, row.action_id) == ("maybe", "probably", card.action_id)
    decision = session.execute(select(Decision)).scalar_one()
    assert (decision.note, decision.blind) == ("It says so.", True)
    assert [past.cue for past in history(session, variant.id)] == [("maybe", "probably")]
    undo(session, reviewer_id=ada)
    assert (variant.cue, variant.status) == ("maybe", Status.PENDING)
    assert Flag.WRONG_SURFACE in flags(session, variant)
    rows = session.execute(select(CueCorrection).order_by(col(CueCorrection.id))).scalars()
    assert [row.after for row in rows] == ["probably", "maybe"]


@both_databases
def test_the_later_correction_of_two_windows_stays_until_it_is_undone(
    session: Session, ada: int
) -> None:
    bert = person(session, "Bert")
    one, two, three = (shown(hedge(session)) for _ in range(3))
    edit(session, one, reviewer_id=ada, cue="probably")
    assert edit(session, two, reviewer_id=bert, cue="likely").overtaken == ("Ada",)
    # A request for the other window's result accepts it.
    assert edit(session, three, reviewer_id=bert, cue="likely").recorded
    assert count(session, CueCorrection) == 2
    undo(session, reviewer_id=bert)
    undo(session, reviewer_id=ada)
    assert hedge(session).cue == "likely"
    undo(session, reviewer_id=bert)
    assert hedge(session).cue == "maybe"


@pytest.mark.parametrize(
    ("type_id", "how", "fact"),
    [
        ("word", {}, "unchanged"),
        ("word", {"cue": "maybe"}, "unchanged"),
        ("word", {"cue": ""}, "unchanged"),
        ("verbal", {"cue": "maybe"}, "unchanged"),
        ("word", {"cue": "x" * 201}, "at most 200"),
        ("word", {"cue": "a \x00 byte"}, "control character"),
        # As a negation, it would be trained on as its own opposite.
        ("verbal", {"text": " The bridge  is safe. "}, "anchor"),
        ("word", {"text": " The bridge  is safe. ", "cue": "maybe"}, "anchor"),
    ],
)
def test_a_refused_edit_changes_nothing(
    session: Session, ada: int, type_id: str, how: dict[str, str], fact: str
) -> None:
    with pytest.raises(HedgerowError, match=fact):
        edit(session, shown(hedge(session, type_id)), reviewer_id=ada, **how)  # type: ignore[arg-type]
    assert (count(session), hedge(session).cue) == (0, "maybe")


def test_retyping_to_a_hedge_finds_its_cue_or_asks_for_it(session: Session, ada: int) -> None:
    anchor = add_anchor(session, "Trains run.")
    found = add_variant(session, anchor, "verbal", "Trains possibly run.")
    none = add_variant(session, anchor, "lexical", "Trains stand.")
    with pytest.raises(CueWanted):
        edit(session, shown(none), reviewer_id=ada, type_id="word")
    for variant, how, cue in ((found, {}, "possibly"), (none, {"cue": "stand"}, "stand")):
        outcome = edit(session, shown(variant), reviewer_id=ada, type_id="word", **how)  # type: ignore[arg-type]
        assert session.get_one(Variant, outcome.child_id).cue == cue


@both_databases
def test_an_edit_into_a_known_variant_corrects_its_cue_only_where_asked(
    session: Session, ada: int
) -> None:
    text = "The bridge is likely safe."
    known = add_variant(session, session.get_one(Anchor, 1), "word", text)
    known.cue = "like"
    session.flush()
    for cue, after in (("maybe", "like"), ("likely", "likely")):
        outcome = edit(session, shown(hedge(session)), reviewer_id=ada, text=text, cue=cue)
        assert outcome.child_id == known.id
        assert (known.cue, known.status) == (after, Status.ACCEPTED)
        undo(session, reviewer_id=ada)
        assert (known.cue, known.status) == ("like", Status.PENDING)


def test_a_cue_corrected_on_an_outdated_card_needs_a_second_look(
    session: Session, ada: int
) -> None:
    variant = hedge(session)
    card = shown(variant)
    correct_anchor(session, 1, "The old bridge is safe.", reviewer_id=ada, expected_revision=1)
    assert edit(session, card, reviewer_id=ada, cue="probably").outdated
    found = variant.cue, variant.status, variant.second_look
    assert found == ("probably", Status.PENDING, True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_cue_is_that_of_the_latest_standing_correction(session: Session, seed: int) -> None:
    """Random corrections and undos of three people, compared with a list of the valid ones."""
    dice = random.Random(seed)
    variant = add_family(session)["word"]
    first, people = variant.cue, [person(session, name) for name in ("Ada", "Bert", "Cleo")]
    standing: list[tuple[int, str]] = []
    for step in range(30):
        who = dice.choice(people)
        if dice.random() < 0.6:
            card = ShownCard(variant.id, variant.version, f"{seed}-{step}")
            edit(session, card, reviewer_id=who, cue=f"cue{step}")
            standing.append((who, f"cue{step}"))
        else:
            undo(session, reviewer_id=who)
            own = [at for at, (other, _) in enumerate(standing) if other == who]
            if own:
                del standing[own[-1]]
        assert variant.cue == (standing[-1][1] if standing else first)


@pytest.mark.parametrize(
    ("original", "how", "expected"),
    [
        (
            "phrase",
            {"text": "It's not at all clear if it is safe."},
            ("phrase", "not at all clear"),
        ),
        ("word", {"text": "The bridge seems safe."}, ("word", "seem")),
        # An edit keeps the cue that its text still uses.
        (
            "phrase",
            {"text": "Not being entirely sure, it seems safe."},
            ("phrase", "not entirely sure"),
        ),
        # The number of words in the cue decides between word and phrase.
        ("word", {"text": "I'm not sure, but the bridge is safe."}, ("phrase", "not sure")),
        (
            "verbal",
            {"text": "Presumably it is safe.", "type_id": "phrase"},
            ("word", "presumably"),
        ),
        ("lexical", {"type_id": "word", "cue": "by all accounts"}, ("phrase", "by all accounts")),
        ("word", {"cue": "on the fence"}, ("phrase", "on the fence")),
    ],
)
def test_the_cue_of_an_edit_is_the_one_in_its_text_and_decides_its_type(
    session: Session, ada: int, original: str, how: dict[str, str], expected: tuple[str, str]
) -> None:
    child = edited(session, ada, original, **how)
    assert (child.type_id, child.cue) == expected and child.text == how.get("text", TEXTS[original])
    assert hedge(session, original).status == Status.SUPERSEDED


@pytest.mark.parametrize(
    ("text", "fact", "proposed"),
    [
        ("Perhaps the bridge is safe.", "no known cue", "perhaps"),
        ("Reportedly, the bridge is quite safe.", "no known cue", "reportedly"),
        ("The bridge might possibly be safe.", r"\('might', 'possibly'\)", "might"),
        ("Gossip has it all over town that the bridge is safe.", "no known cue", ""),
    ],
)
def test_a_hedge_without_one_known_cue_asks_for_it_and_changes_nothing(
    session: Session, ada: int, text: str, fact: str, proposed: str
) -> None:
    with pytest.raises(CueWanted, match=fact) as wanted:
        edited(session, ada, "phrase", text=text)
    assert wanted.value.proposed == proposed
    with pytest.raises(CueWanted, match=fact):
        write(session, ada, text, type_id="word")
    assert (count(session), count(session, Variant)) == (0, len(TEXTS))
    assert edited(session, ada, "phrase", text=text, cue="over the town").cue == "over the town"
    assert write(session, ada, text, type_id="word", cue="possibly").cue == "possibly"


def test_retyping_to_the_other_hedge_asks_for_a_cue_that_makes_it_that(
    session: Session, ada: int
) -> None:
    text = "I'm not sure, but the bridge is safe."
    phrase = add_variant(session, session.get_one(Anchor, 1), "phrase", text)
    phrase.cue = "not sure"
    session.flush()
    with pytest.raises(CueWanted, match="'not sure' has 2 words"):
        edit(session, shown(phrase), reviewer_id=ada, type_id="word")
    outcome = edit(session, shown(phrase), reviewer_id=ada, type_id="word", cue="sure")
    child = session.get_one(Variant, outcome.child_id)
    assert (child.type_id, child.text, child.cue) == ("word", text, "sure")


def test_an_own_variant_is_accepted_measured_and_released_as_a_persons(
    session: Session, ada: int
) -> None:
    own = write(session, ada, " The bridge  isn't safe. ")
    assert (own.status, own.text, own.author_id) == (Status.ACCEPTED, OWN, ada)
    assert session.get_one(Diagnostic, own.id).levenshtein == 3
    summary = freeze(session).release.summary
    (item,) = session.execute(select(ReleaseItem)).scalars()
    origin = item.provenance
    assert (origin["provider"], origin["model"], origin["author"]) == ("person", "", "Ada")
    assert (origin["parent_uid"], origin["decided_by"]) == (None, "person")
    # It says nothing about the quality of the models, and nobody edited it.
    assert (summary["review"]["verbal"]["as_written"], summary["edited_by"]) == (0, {})
    undone = undo(session, reviewer_id=ada)
    assert undone is not None and undone.variant_id == own.id
    assert own.status == Status.PENDING


@both_databases
def test_the_same_form_sent_twice_writes_once(session: Session, ada: int) -> None:
    form = {"anchor_id": 1, "type_id": "verbal", "reviewer_id": ada, "action_id": "one"}
    found = [write_variant(session, text=text, **form) for text in (OWN, OWN, "Something else.")]  # type: ignore[arg-type]
    assert [written.recorded for written in found] == [True, False, False]
    assert len({written.variant.id for written in found}) == 1


@pytest.mark.parametrize(
    ("verdict", "fact"),
    [("", "pending"), ("accept", "accepted"), ("reject", "rejected"), ("edit", "an edit")],
)
def test_a_text_that_is_there_is_named_with_its_status(
    session: Session, ada: int, verdict: str, fact: str
) -> None:
    card = shown(session.get_one(Variant, 1))
    if verdict == "accept":
        accept(session, card, reviewer_id=ada)
    elif verdict == "reject":
        reject(session, card, reviewer_id=ada, reason="wrong_scope")
    elif verdict == "edit":
        edit(session, card, reviewer_id=ada, text=OWN)
    before = count(session, Variant), count(session)
    with pytest.raises(AlreadyThere, match=fact):
        write(session, ada, TEXTS["verbal"])
    assert (count(session, Variant), count(session)) == before


@pytest.mark.parametrize(
    ("text", "type_id", "fact"),
    [
        ("", "verbal", "a text"),
        ("x" * 2001, "verbal", "a text"),
        ("a \x00 byte", "verbal", "control character"),
        ("The bridge is safe.", "verbal", "anchor"),
        (OWN, "no_such_type", "a variant type"),
        ("The bridge is safe, one hears.", "word", "no known cue"),
    ],
)
def test_an_output_that_is_not_a_variant_is_refused(
    session: Session, ada: int, text: str, type_id: str, fact: str
) -> None:
    with pytest.raises(HedgerowError, match=fact):
        write(session, ada, text, type_id=type_id)
    assert count(session, Variant) == len(TEXTS)


def test_an_own_hedge_has_the_cue_given_or_a_known_one_which_decides_its_type(
    session: Session, ada: int
) -> None:
    given = write(session, ada, "The bridge is safe, one hears.", type_id="word", cue="hears ")
    found = write(session, ada, "The bridge is possibly safe.", type_id="word")
    needless = write(session, ada, cue="hears")
    assert [v.cue for v in (given, found, needless)] == ["hears", "possibly", None]
    text = "I wonder if the bridge is safe."
    own = write_variant(session, anchor_id=1, type_id="word", text=text, reviewer_id=ada)
    assert (own.variant.type_id, own.variant.cue) == ("phrase", "wonder if")
    assert "'wonder if' has 2 words" in own.remark


def test_an_own_variant_is_made_for_the_current_wording_and_not_for_a_retired_anchor(
    session: Session, ada: int
) -> None:
    other = add_anchor(session, "Trains are late.").id
    correct_anchor(session, other, "The trains are late.", reviewer_id=ada, expected_revision=1)
    own = write(session, ada, "The trains are not late.", anchor_id=other)
    assert (own.anchor_revision, own.status) == (2, Status.ACCEPTED)
    assert session.get_one(Diagnostic, own.id).levenshtein == 4
    retire_anchor(session, 1)
    with pytest.raises(HedgerowError, match="restore"):
        write(session, ada)
