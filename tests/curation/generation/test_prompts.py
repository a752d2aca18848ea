"""Prompts: the paper's wording, places filled once, versions, cues, and examples that are chosen
among what people accepted; and the acceptance by version."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import anchor_uid
from curation.decisions.storing import store_decisions
from curation.editing.anchors import retire_anchor
from curation.generation.examples import (
    HEADING,
    LONGEST,
    Example,
    as_rows,
    choose_examples,
    diverse,
    from_rows,
    in_words,
    save_with_examples,
    with_place,
)
from curation.generation.prompts import (
    JUDGE,
    built_in,
    fill,
    needs_prompts,
    newest_template,
    prompt_ids,
    prompt_versions,
    sample_cues,
    save_copy,
    save_draft,
    seed_prompts,
    types_of,
)
from curation.review import deciding
from curation.review.calibration.consistency import acceptance_by_prompt
from curation.review.rules import apply_rule, parse_rule
from curation.splits import split_of
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.cues import HEDGE_CUES
from curation.taxonomy.surface_check import ROLES
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, Decision, PromptVersion, Split, Variant, Verdict
from tests.curation.generation.conftest import Runs, Serve
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_family, add_variant, engine_of, model, person

HOSTILE = "Say {types}, {text} and **<b>bold</b>** to {examples}."
NEGATIONS = types_of("negation", TAXONOMY)


HEDGES = types_of("hedge", TAXONOMY)
PLANE = "A yellow and black plane is flying in the clouds and blue sky."


def test_the_hedging_prompt_is_the_papers_with_cues_in_their_right_spelling() -> None:
    cues = {"word": "wouldnt", "phrase": "not guite sure"}
    prompt = fill(built_in("hedge"), text=PLANE, types=HEDGES, cues=cues)
    assert prompt.splitlines() == [
        f"Text: {PLANE}",
        "Add hedging to the text. Two types of hedging:",
        '1. "word": single-word cue such as wouldn\'t',
        '2. "phrase": multi-word cue such as not quite sure',
        "Modified text:",
    ]
    one = fill(built_in("hedge"), text=PLANE, types=HEDGES[:1], cues={"word": "maybe"})
    assert "One type of hedging:" in one


def test_places_in_an_anchor_are_text() -> None:
    hostile = "Say {types} and {text} and {0} and %s."
    prompt = fill(built_in("negation"), text=hostile, types=[], cues={})
    assert prompt.count(hostile) == 1


def test_cues_depend_on_seed_and_anchor_alone_and_all_are_used() -> None:
    uids = [anchor_uid(f"Sentence {n}.") for n in range(3000)]
    draws, same, other = (
        [sample_cues(HEDGES, seed=seed, anchor_uid=uid) for uid in uids] for seed in (1, 1, 2)
    )
    assert draws == same and draws != other
    for kind, cues in HEDGE_CUES.items():
        used = Counter(draw[kind] for draw in draws)
        assert set(used) == set(cues)
        assert max(used.values()) < 3 * len(draws) / len(cues)


def test_an_edited_copy_is_the_next_version_unless_it_was_stored_before(engine: Engine) -> None:
    with writing(engine) as session:
        assert needs_prompts(session)
        assert newest_template(session, "negation") == built_in("negation")
        for _ in range(2):
            seed_prompts(session)
            assert not needs_prompts(session)
            assert all([p.version for p in prompt_versions(session, r)] == [1] for r in ROLES)
        first = prompt_versions(session, "negation")[0]
        text = first.template.replace("Negate the text.", "Negate it.")
        copy = save_copy(session, first, text, author_id=None)
        assert (copy.version, copy.parent_id) == (2, first.id)
        assert save_copy(session, first, text + "\n", author_id=None).id == copy.id
        seed_prompts(session)
        further = text.replace("Negate it.", "Deny it.")
        drafts = [(text, (2, True)), (further, (3, True)), (first.template, (1, False))]
        for template, expected in drafts:
            assert save_draft(session, first, template, author_id=None) == expected
        assert newest_template(session, "negation") == further
        assert list(prompt_ids(session, "negation")) == [3, 2, 1]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{text}", "types"),
        ("{types}", "text"),
        ("{text}{text}{types}", "2 times"),
        ("{text}{types}" + "x" * 8000, "8000"),
        ("{text}{types}{cue}", r"\{cue\}"),
        ("{text}{types}{ Text }", r"\{ Text \}"),
    ],
)
def test_a_prompt_without_its_places_is_refused(
    engine: Engine, template: str, message: str
) -> None:
    with writing(engine) as session:
        seed_prompts(session)
        parent = prompt_versions(session, "hedge")[0]
        with pytest.raises(HedgerowError, match=message):
            save_copy(session, parent, template, author_id=None)
        assert len(prompt_versions(session, "hedge")) == 1


# -- choosing examples -----------------------------------------------------------------------------


def anchor_text(split: str, number: int) -> str:
    """An anchor in a split."""
    found = (f"The {split} bridge {number}.{extra} is safe." for extra in range(10_000))
    return next(text for text in found if split_of(anchor_uid(text)) == split)


def variant(
    session: Session, number: int, *, split: str = "train", type_id: str = "verbal", text: str = ""
) -> Variant:
    anchor = add_anchor(session, anchor_text(split, number))
    return add_variant(session, anchor, type_id, text or f"Bridge {number} is not safe.")


def accept(session: Session, *some: Variant) -> None:
    for one in some:
        deciding.accept(session, deciding.shown(one), reviewer_id=person(session))


@pytest.mark.slow
@both_databases
def test_only_what_a_person_read_and_accepted_of_training_anchors_is_chosen(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
        good, edited, _pending = (variant(session, n) for n in (1, 2, 3))
        rejected, undone, retired, long = (variant(session, n) for n in (4, 5, 6, 7))
        long.text = "x" * (LONGEST + 1)
        held_out = [variant(session, 8, split=s) for s in (Split.VALIDATION, Split.TEST)]
        word = variant(session, 10, type_id="word", text="Bridge 10 is maybe safe.")
        accept(session, good, retired, long, *held_out, word)
        deciding.edit(
            session, deciding.shown(edited), reviewer_id=ada, text="It is by no means so."
        )
        deciding.reject(session, deciding.shown(rejected), reviewer_id=ada, reason="wrong_scope")
        retire_anchor(session, retired.anchor_id)
        of_model = {"variant_id": variant(session, 9).id, "variant_version": 1, "action_id": "m"}
        of_model |= {"reviewer_id": model(session), "verdict": Verdict.ACCEPT}
        store_decisions(session, [Decision(**of_model)])
        accept(session, undone)
        deciding.undo(session, reviewer_id=ada)
        found = choose_examples(session, "negation", 10)
        expected = {(good.text, False), ("It is by no means so.", True)}
        assert {(one.text, one.edited) for one in found} == expected
        assert found[0].edited and found[0].anchor == anchor_text("train", 2)
        (hedge,) = choose_examples(session, "hedge", 10)
        assert (hedge.type_id, hedge.cue) == ("word", "probably")


def test_nobody_has_read_what_a_rule_accepted(engine: Engine) -> None:
    with writing(engine) as session:
        by_rule, ada = variant(session, 1), person(session)
        rule = parse_rule("source = test")
        done = apply_rule(engine_of(session), rule, verdict=Verdict.ACCEPT, reviewer_id=ada)
        assert done.matches.total == 1
        with pytest.raises(HedgerowError, match="no person"):
            choose_examples(session, "negation", 3)
        session.refresh(by_rule)
        accept(session, by_rule)
        assert [one.uid for one in choose_examples(session, "negation", 3)] == [by_rule.uid]


@pytest.mark.slow
def test_the_seed_decides_and_each_type_has_its_own(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(8):
            affixal = variant(session, 100 + number, type_id="affixal", text=f"Un{number}.")
            accept(session, variant(session, number), affixal)
        found = choose_examples(session, "negation", 3, seed=1)
        assert [one.type_id for one in found] == ["verbal"] * 3 + ["affixal"] * 3
        assert found == choose_examples(session, "negation", 3, seed=1)
        assert found != choose_examples(session, "negation", 3, seed=2)
        only = choose_examples(session, "negation", 2, types=["affixal"])
        assert [one.type_id for one in only] == ["affixal"] * 2


def made(number: int, text: str = "", **how: Any) -> Example:
    anchor = how.pop("anchor", f"The {number} is here.")
    text = text or f"The {number} is not here."
    return Example(f"v{number}", "word", anchor_uid(anchor), anchor, text, **how)


def test_edits_come_first_then_what_differs_most() -> None:
    edits = [made(1, edited=True)]
    alike = [made(number) for number in range(2, 8)]
    other = made(8, "Never would anybody have claimed that it was here at all, they say.")
    perhaps = [made(n, f"The {n} is perhaps here.", cue="perhaps") for n in range(1, 6)]
    supposedly = made(6, "The 6 is supposedly here.", cue="supposedly")
    for seed in range(5):
        found = diverse(edits, [*alike, other], number=3, seed=seed)
        assert [one.uid for one in found[:2]] == ["v1", "v8"]
        with_cues = diverse([], [*perhaps, supposedly], number=2, seed=seed)
        assert supposedly in with_cues, "another cue is farther than another anchor"
    assert diverse(edits, [], number=3, seed=0) == edits


def test_an_anchor_gives_one_example() -> None:
    one, other = (made(n, f"Text {n}.", anchor="The road is here.") for n in (1, 2))
    assert len(diverse([], [one, other], number=2, seed=0)) == 1
    assert diverse([one], [other], number=2, seed=0) == [one]


# -- in a prompt ----------------------------------------------------------------------------------


def example(number: int, type_id: str = "verbal", text: str = "") -> Example:
    anchor = f"The road {number} is long."
    return Example(f"v{number}", type_id, anchor_uid(anchor), anchor, text or f"Not {number}.")


SHOWN = [example(1), example(2, "affixal", HOSTILE)]


def test_the_place_comes_before_the_anchor_and_leaves_no_empty_line() -> None:
    for role in ("negation", "hedge", "paraphrase", "unsupported"):
        template = built_in(role)
        placed = with_place(template)
        assert placed == f"{{examples}}\n\n{template}" and with_place(placed) == placed
        values: Any = {"text": "A bridge.", "types": types_of(role, TAXONOMY), "cues": {}}
        assert fill(placed, **values) == fill(template, **values)
    before = "Do this:\n{examples}\n\nText: {text}\n{types}"
    assert with_place("Do this:\nText: {text}\n{types}") == before
    with pytest.raises(HedgerowError, match="types"):
        with_place("{text}")


def test_an_anchor_comes_once_before_its_variants_and_texts_stay_unchanged() -> None:
    shown = [example(1), example(1, "affixal", HOSTILE), example(2), example(3, "word")]
    words = in_words(shown, ["verbal", "affixal"], anchor_uid="x", text="x")
    assert words.splitlines() == [
        HEADING,
        "",
        "Example: The road 1 is long.",
        '"verbal": Not 1.',
        f'"affixal": {HOSTILE}',
        "",
        "Example: The road 2 is long.",
        '"verbal": Not 2.',
    ]
    template = with_place(built_in("negation"))
    prompt = fill(template, text="A bridge.", types=NEGATIONS, cues={}, examples=words)
    assert HOSTILE in prompt and prompt.count("1. ") == 1


def test_no_example_of_the_anchor_itself_is_shown() -> None:
    own = example(1)
    for uid, text in ((own.anchor_uid, "Reworded."), ("other", own.anchor)):
        assert in_words([own], ["verbal"], anchor_uid=uid, text=text) == ""


def test_examples_need_a_prompt_that_asks_for_variants(engine: Engine) -> None:
    with writing(engine) as session:
        seed_prompts(session)
        for name, examples, fact in ((JUDGE, SHOWN, JUDGE), ("hedge", [], "none")):
            parent = prompt_versions(session, name)[0]
            with pytest.raises(HedgerowError, match=fact):
                save_with_examples(session, parent, examples, author_id=None)


@both_databases
def test_the_prompt_of_every_variant_can_be_rebuilt(
    engine: Engine, home: Path, serve_chat: Serve
) -> None:
    with writing(engine) as session:
        for number in range(3):
            add_anchor(session, f"The road {number} is long.")
        seed_prompts(session)
        parent = prompt_versions(session, "negation")[0]
        template = with_place(parent.template)

        def save(of: PromptVersion, template: str, **examples: Any) -> tuple[int, int]:
            saved = save_copy(session, of, template, author_id=None, **examples)
            return saved.id, saved.version

        first = save(parent, template, examples=as_rows(SHOWN))
        saved = session.get_one(PromptVersion, first[0])
        assert first[1] == 2 and from_rows(saved.examples) == tuple(SHOWN)
        assert save(parent, template, examples=as_rows(SHOWN)) == first
        assert save(parent, template, examples=as_rows(SHOWN[:1]))[1] == 3
        assert save(saved, f"{template}\n") == first
        assert save(saved, parent.template) == (parent.id, 1)
    runs = Runs(engine, home, *serve_chat())
    runs.carry_out(roles=("negation",), prompts={"negation": first[0]})
    query = select(Variant, Answer, PromptVersion).where(
        col(Answer.id) == Variant.answer_id, col(PromptVersion.id) == Variant.prompt_version_id
    )
    rebuilt = {}
    for variant, answer, prompt in runs.rows(query):
        anchor = f"The road {variant.anchor_id - 1} is long."
        ids, examples = [entry.id for entry in NEGATIONS], from_rows(prompt.examples)
        words = in_words(examples, ids, anchor_uid=anchor_uid(anchor), text=anchor)
        how: Any = {"types": NEGATIONS, "cues": answer.cues, "examples": words}
        rebuilt[anchor[9]] = fill(prompt.template, text=anchor, **how)
    assert set(rebuilt.values()) == set(runs.server.asked) and len(rebuilt) == 3
    for text, by in (("Not 1.", {"0", "2"}), (HOSTILE, {"0", "1"})):
        assert {number for number, prompt in rebuilt.items() if text in prompt} == by


# -- acceptance by version ------------------------------------------------------------------------


@pytest.mark.slow
@both_databases
def test_versions_are_compared_by_the_decisions_on_their_variants(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
        seed_prompts(session)
        before = prompt_versions(session, "negation")[0]
        after = save_with_examples(session, before, SHOWN[:1], author_id=ada)
        do = {
            "a": deciding.accept,
            "e": partial(deciding.edit, text="It really is not safe."),
            "r": partial(deciding.reject, reason="wrong_scope"),
        }
        verdicts = [(before, verdict) for verdict in "aeerr."]
        verdicts += [(after, verdict) for verdict in "aaaar"]
        for number, (prompt, verdict) in enumerate(verdicts):
            variant = add_family(session, f"Bridge {number} is safe.")["verbal"]
            variant.prompt_version_id, variant.provider, variant.model = prompt.id, "openai", "m"
            session.flush()
            if verdict != ".":
                do[verdict](session, deciding.shown(variant), reviewer_id=ada)
    with reading(engine) as session:
        one, other = acceptance_by_prompt(session)
    assert (one.type_id, one.model, one.version, one.examples) == ("verbal", "m", 1, 0)
    assert (other.version, other.examples) == (2, 1)
    assert (one.outcomes.decided, one.outcomes.pending, other.outcomes.decided) == (5, 1, 5)
    assert (one.as_written.value, other.as_written.value) == (1 / 5, 4 / 5)
    limits = binomtest(3, 5).proportion_ci(0.95)
    assert one.acceptance == pytest.approx((3 / 5, limits.low, limits.high))
