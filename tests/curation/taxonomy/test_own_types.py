"""The types of a project: user-defined ones are drafted, added, changed, retired and restored, and
built-in ones take over newer wordings. Hedge cues."""

import contextlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.distributions import data_version
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import count_without_measures, measure_variants
from curation.editing.anchors import restore_anchor, retire_anchor
from curation.editing.own_types import (
    add_type,
    change_type,
    find_type,
    restore_type,
    retire_type,
    type_versions,
)
from curation.editing.own_variants import write_variant
from curation.editing.type_drafts import (
    OwnType,
    as_written,
    draft,
    free_id,
    read_check,
    sketch,
    try_out,
)
from curation.generation.answers import answer_model
from curation.generation.prompts import fill, sample_cues
from curation.language.tokens import Analysis
from curation.overview.funnel import funnel
from curation.overview.project_settings import open_project
from curation.review import deciding
from curation.review.queue import next_variant, status_counts
from curation.taxonomy.built_in import TAXONOMY, TAXONOMY_VERSION, variant_type
from curation.taxonomy.cues import (
    HEDGE_CUES,
    SPELLING,
    cue_list,
    find_cue,
    find_phrase,
    known_cue,
    listed_cues,
    new_cues,
)
from curation.taxonomy.guideline import ExampleKind, parse_guideline
from curation.taxonomy.project_types import list_types, needs_seeding, seed_taxonomy
from curation.taxonomy.surface_check import SurfaceCheck
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Diagnostic, RunMetric, Status, TypeRow, TypeVersion, Variant
from db.settings import Settings
from tests.curation.support.own_types import HEDGE, NEGATION
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_anchor, add_family, freeze, person
from tests.support.hostile import TEXTS

OWN = "quantifier_negation"


def changed(wanted: OwnType, **values: object) -> OwnType:
    return wanted.model_copy(update=values)


def own_variants(session: Session) -> list[Variant]:
    session.expire_all()
    query = select(Variant).where(col(Variant.type_id) == OWN)
    return list(session.execute(query.order_by(col(Variant.id))).scalars())


def write(session: Session, anchor_id: int, text: str) -> None:
    of = {"anchor_id": anchor_id, "type_id": OWN, "reviewer_id": person(session)}
    write_variant(session, text=text, **of)


@pytest.fixture
def project(engine: Engine, fill: Fill) -> Engine:
    """A family, and another anchor, each with a variant of a user-defined negation."""

    def made(session: Session) -> None:
        bridge = add_family(session)["verbal"].anchor_id
        add_type(session, NEGATION)
        write(session, bridge, "Not all of the bridge is safe.")
        write(session, add_anchor(session, "The road is safe.").id, "Not all of the road is safe.")

    fill(engine, made)
    return engine


def test_an_added_type_is_listed_among_the_others_and_the_built_in_ones_stay(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)
        before = list_types(session)
        added, hedge = add_type(session, NEGATION), add_type(session, HEDGE)
        seed_taxonomy(session)
    with reading(engine) as session:
        assert list_types(session) == [*before, added, hedge] and not needs_seeding(session)
        assert as_written(added) == NEGATION and as_written(hedge) == HEDGE
        assert (added.id, added.version, added.own) == (OWN, 1, True)


def test_two_types_may_not_get_the_same_id(engine: Engine) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)
        names = ("Négation", "Negation!")
        first, second = (add_type(session, changed(NEGATION, label=name)) for name in names)
        assert (first.id, second.id) == ("negation", "negation_2")
        assert find_type(session, second.id).order == find_type(session, first.id).order + 1


def test_a_refused_change_changes_nothing(project: Engine) -> None:
    with reading(project) as session:
        before = list_types(session, retired=True)
    refused = [
        (add_type, NEGATION),
        (add_type, changed(NEGATION, label="verbal")),
        (add_type, changed(HEDGE, example="No.")),
        (change_type, "verbal", changed(NEGATION, definition="Something else here.")),
        (change_type, OWN, NEGATION),
        (change_type, OWN, changed(NEGATION, role="paraphrase")),
        (change_type, OWN, changed(NEGATION, label="Affixal negation")),
        (change_type, "nothing", NEGATION),
        (retire_type, "verbal"),
        (restore_type, "verbal"),
    ]
    for do, *arguments in refused:
        with pytest.raises(HedgerowError), writing(project) as session:
            do(session, *arguments)
    with reading(project) as session:
        assert list_types(session, retired=True) == before


def test_a_change_is_a_further_version_and_has_the_flags_measured_again(project: Engine) -> None:
    with writing(project) as session:
        wording = changed(NEGATION, label="Negated quantifier", guideline="Rule: none.")
        assert change_type(session, OWN, wording).to_measure == 0
        assert count_without_measures(session) == 7  # the family of the fixture
        version = data_version(session)
        check = SurfaceCheck(require_words=("nowhere",))
        example = "Nowhere is every bridge safe."
        strict = changed(wording, example=example, surface_check=check)
        done = change_type(session, OWN, strict)
        assert (done.to_measure, done.entry.version) == (2, 3)
        assert count_without_measures(session) == 9 and data_version(session) != version
        ids = [variant.id for variant in own_variants(session)]
        measure_variants(session, ids)
        flags = [Flag(session.get_one(Diagnostic, key).flags) for key in ids]
        assert all(Flag.WRONG_SURFACE in found for found in flags)
        versions = [(row.version, row.label) for row in type_versions(session, OWN)]
        assert versions == [(3, wording.label), (2, wording.label), (1, NEGATION.label)]


def test_a_retired_type_leaves_queues_and_releases_and_comes_back(project: Engine) -> None:
    with writing(project) as session:
        deciding.undo(session, reviewer_id=person(session))
        assert next_variant(session, type_ids=[OWN]) is not None
        assert freeze(session).release.summary["types"] == {OWN: 1}
        version = data_version(session)
        assert [retire_type(session, OWN) for _ in range(2)] == [True, False]
        assert data_version(session) != version
        assert OWN not in {entry.id for entry in list_types(session)} | {*status_counts(session)}
        assert next_variant(session, type_ids=[OWN]) is None
        with pytest.raises(HedgerowError, match="nothing to release"):
            freeze(session)
        row = {row.type_id: row for row in funnel(session).rows}[OWN]
        assert (row.label, row.variants, row.released) == ("Quantifier negation (retired)", 0, 1)
    with writing(project) as session:
        assert [restore_type(session, OWN) for _ in range(2)] == [True, False]
        counts = status_counts(session)[OWN]
        assert (counts[Status.ACCEPTED], counts[Status.PENDING]) == (1, 1)
        assert not freeze(session).created


def test_a_variant_is_out_of_use_with_its_anchor_or_with_its_type(project: Engine) -> None:
    with writing(project) as session:
        bridge = own_variants(session)[0].anchor_id
        for changes, in_use in (
            (((retire_anchor, bridge), (retire_type, OWN), (restore_anchor, bridge)), [False] * 2),
            (((retire_anchor, bridge), (restore_type, OWN)), [False, True]),
            (((restore_anchor, bridge),), [True, True]),
        ):
            for change, of in changes:
                change(session, of)
            assert [not variant.retired for variant in own_variants(session)] == in_use
            assert session.get_one(Variant, 1).retired == (in_use == [False, True])


def test_a_variant_of_a_retired_type_can_be_retyped_and_is_in_use_again(project: Engine) -> None:
    with writing(project) as session:
        me = person(session)
        retire_type(session, OWN)
        first, second = own_variants(session)
        measure_variants(session, [first.id, second.id])
        deciding.edit(session, deciding.shown(first), reviewer_id=me, text="Not all of it is safe.")
        child = own_variants(session)[-1]
        assert child.text == "Not all of it is safe." and child.retired
        outcome = deciding.edit(session, deciding.shown(second), reviewer_id=me, type_id="absolute")
        retyped = session.get_one(Variant, outcome.child_id)
        assert (retyped.type_id, retyped.retired) == ("absolute", False)
        with pytest.raises(HedgerowError, match="variant type"):
            deciding.edit(session, deciding.shown(retyped), reviewer_id=me, type_id=OWN)
        with pytest.raises(HedgerowError, match="variant type"):
            write(session, first.anchor_id, "No.")


@both_databases
def test_one_of_two_people_who_add_the_same_type_at_once_is_refused(engine: Engine) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)

    def add(_: int) -> str:
        try:
            with writing(engine) as session:
                return add_type(session, NEGATION).id
        except HedgerowError:
            return "refused"

    with ThreadPoolExecutor(4) as pool:
        found = sorted(pool.map(add, range(4)))
    assert found == [OWN] + ["refused"] * 3


@pytest.mark.slow
def test_opening_an_older_project_gives_it_the_newer_wordings_and_keeps_the_old(
    home: Path,
) -> None:
    settings = Settings(home=home, database_url="")
    engine = open_project(settings)
    older, newer = TAXONOMY_VERSION - 1, TAXONOMY_VERSION + 1
    with writing(engine) as session:
        session.execute(update(TypeVersion).values(version=older, guideline="As it was."))
        session.execute(update(TypeRow).values(version=older))
        session.get_one(TypeRow, "word").version = newer  # of a newer program
        wording = session.get_one(TypeVersion, ("word", older)).model_dump()
        session.add(TypeVersion(**(wording | {"version": newer, "label": "Ours"})))
    engine.dispose()
    engine = open_project(settings)
    with reading(engine) as session:
        assert not needs_seeding(session)
        found = {entry.id: entry for entry in list_types(session)}
        guidelines = {entry.id: entry.guideline for entry in TAXONOMY} | {"word": "As it was."}
        assert {key: entry.guideline for key, entry in found.items()} == guidelines
        assert session.get_one(TypeVersion, ("verbal", older)).guideline == "As it was."
        assert found["word"].label == "Ours"
        assert session.get_one(TypeRow, "word").version == newer
    engine.dispose()


PAPERS = [cue for cues in HEDGE_CUES.values() for cue in cues]


def test_the_lists_are_the_papers_and_every_cue_is_found_as_printed_and_as_corrected() -> None:
    for kind, number in (("word", 134), ("phrase", 45)):
        assert len(HEDGE_CUES[kind]) == len(set(HEDGE_CUES[kind])) == number
    assert {"appearence", "maynot", "why/if", "not guite sure", *SPELLING} <= set(PAPERS)
    for cue in PAPERS:
        for spelled in (cue, SPELLING.get(cue, cue)):
            assert find_cue(Analysis(f"They say {spelled}, it rains."), cue), (cue, spelled)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("cant", "I can't be sure, but it rains."),
        ("cant", "I can’t be sure, but it rains."),
        ("appearence", "To all appearances, it rains."),
        ("look like", "It looks like rain."),
        ("seem like", "It seemed to me like rain."),
        ("isnt clear", "It isn't clear whether it rains."),
        ("isnt clear", "It is not clear whether it rains."),
        ("maynot", "It may not be so, but it rains."),
        ("not guite sure", "I'm not quite sure it rains."),
        ("wether", "We ask whether it rains."),
        ("why/if", "He wonders if it rains."),
        ("not 100 % sure", "I'm not 100% sure it rains."),
        ("not sure", "I'm not at all sure it rains."),
        ("do not convincingly", "The data don't convincingly show rain."),
        ("cannot claim", "She can't claim that it rains."),
    ],
)
def test_inflection_spelling_and_interruption(cue: str, text: str) -> None:
    assert find_cue(Analysis(text), cue)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("like", "It is likely that it rains."),
        ("clear", "It is unclear whether it rains."),
        ("clear", "It is clearly raining."),
        ("may", "In maybe an hour it rains."),
        ("not sure", "It is not raining, I am sure."),
        ("not sure", "It is not so that I'm not a fool, sure."),
        ("probably", "It rains."),
    ],
)
def test_other_words_are_not_the_cue(cue: str, text: str) -> None:
    assert not find_cue(Analysis(text), cue)


def test_the_found_tokens_are_those_of_the_cue_also_for_a_user_defined_phrase() -> None:
    analysis = Analysis("It looks to me like rain.")
    (found,) = find_cue(analysis, "look like")
    assert [analysis.words[i] for i in found] == ["looks", "like"]
    assert find_phrase(Analysis("She ran out of steam."), "run out of")
    assert not find_phrase(Analysis("She walked."), "run out of")


@pytest.mark.parametrize(
    ("text", "type_id", "own", "cue"),
    [
        ("The bridge is probably safe.", "word", (), "probably"),
        ("It is possibly, perhaps probably safe.", "word", (), "possibly"),
        ("I'm not entirely sure, but the bridge seems safe.", "phrase", (), "not entirely sure"),
        ("The bridge is safe.", "word", (), None),
        ("The bridge is probably safe.", "phrase", (), None),
        ("The bridge is probably safe.", "a_type_of_ones_own", (), "probably"),
        ("In my view the bridge is probably safe.", "mine", ("in my view",), "in my view"),
        ("The bridge is probably safe.", "mine", ("in my view",), None),
    ],
)
def test_a_known_cue_is_found_in_a_text(
    text: str, type_id: str, own: tuple[str, ...], cue: str | None
) -> None:
    check = SurfaceCheck(require_cue=True, require_words=own)
    entry = variant_type("word").model_copy(update={"id": type_id, "surface_check": check})
    assert known_cue(text, cue_list(entry)) == cue
    assert (listed_cues(entry) or ()) == HEDGE_CUES.get(type_id, own)


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("I'm not entirely sure, but the bridge seems safe.", ["not entirely sure", "seem"]),
        ("The bridge is seemingly safe.", ["seemingly"]),
        ("The bridge can't be safe.", ["cant"]),
        ("It's unclear whether the bridge is safe.", ["unclear", "whether"]),
        ("I wonder if the bridge is safe.", ["wonder if"]),
        ("Perhaps the bridge is safe.", []),
        ("The bridge is safe or clean.", ["clean"]),
    ],
)
def test_the_cues_that_a_text_brings_in_are_whole_and_new(text: str, cues: list[str]) -> None:
    anchor = "The bridge is safe or sound."
    assert new_cues(anchor=anchor, text=text, cues=PAPERS) == cues


# -- drafts ---------------------------------------------------------------------------------------


def checked(wanted: OwnType, **values: Any) -> OwnType:
    """Another type with these values, if they are valid."""
    return OwnType(**(wanted.model_dump() | values))


@pytest.mark.parametrize(
    ("label", "type_id"),
    [
        ("Quantifier negation", "quantifier_negation"),
        ("Scalar 'only' (focus)", "scalar_only_focus"),
        ("Négation élargie", "negation_elargie"),
        ("2nd person", "type_2nd_person"),
        ("否定", "type"),
        ("Copy", "type_copy"),  # a method of the answers' own class
        ("Model fields", "type_model_fields"),
        ("All", "type_all"),
        ("Verbal", "verbal_2"),
        ("x" * 80, "x" * 36),
    ],
)
def test_the_id_follows_from_the_name(label: str, type_id: str) -> None:
    assert free_id(label, {entry.id for entry in TAXONOMY}) == type_id


def test_two_ids_fit_into_the_name_of_a_figure() -> None:
    longest = "x" * 36
    second = free_id("x" * 80, {longest})
    assert second == "x" * 34 + "_2"
    column = RunMetric.__table__.c.name  # type: ignore[attr-defined]
    assert len(f"ranked:{longest}>{second}") <= column.type.length


@given(label=st.text(max_size=60), taken=st.sets(st.sampled_from(["a", "type", "type_2", "all"])))
def test_every_name_gives_an_id_that_an_answer_can_have(label: str, taken: set[str]) -> None:
    type_id = free_id(label, taken)
    assert type_id not in taken and len(type_id) <= 36
    entry = variant_type("verbal").model_copy(update={"id": type_id})
    assert type(entry)(**entry.model_dump()).id == type_id
    answer = answer_model([entry]).model_validate({type_id: "It is not."})
    assert answer.model_dump() == {type_id: "It is not."}


@pytest.mark.parametrize(
    ("wanted", "values", "fact"),
    [
        (NEGATION, {"label": "x"}, "2 to 40 .* 1"),
        (NEGATION, {"label": "x" * 41}, "2 to 40 .* 41"),
        (NEGATION, {"label": "VERBAL negation"}, "'VERBAL negation'"),
        (NEGATION, {"label": "negated antonym"}, "'negated antonym'"),
        (NEGATION, {"label": "A\0name"}, "control"),
        (NEGATION, {"definition": " "}, "definition"),
        (NEGATION, {"example": "every bridge is  safe."}, "anchor"),
        (NEGATION, {"example": ""}, "example of 1 to 2000"),
        (NEGATION, {"example": "Perhaps not every bridge is safe."}, "surface check"),
        (NEGATION, {"example": "Every bridge is unsafe."}, "negator"),
        (NEGATION, {"prompt_line": "Write {cue} here."}, "cues"),
        (NEGATION, {"guideline": "x" * 20_001}, "20000"),
        (NEGATION, {"surface_check": {"require_cue": True}}, "hedges"),
        (NEGATION, {"surface_check": {"require_words": ["x" * 61]}}, "1 to 60"),
        (NEGATION, {"surface_check": {"negative_prefixes": ["un1"]}}, "affixes"),
        (HEDGE, {"prompt_line": "hearsay"}, "0 times"),
        (HEDGE, {"example": "The bridge is probably safe."}, "none of the cues"),
    ],
)
def test_mistakes_give_one_sentence(wanted: OwnType, values: Mapping[str, Any], fact: str) -> None:
    with pytest.raises(HedgerowError, match=fact) as refused:
        draft(checked(wanted, **values), TAXONOMY)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "values",
    [
        {"require_new": ["negator"], "forbid_new": ["negator"]},
        {"require_replaced_content": True, "forbid_replaced_content": True},
        {"require_words": [" "]},
        {"require_new": ["noun"]},
        {"code": "import os"},
        {"max_lost_content": -1},
    ],
)
def test_a_check_that_cannot_be_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(HedgerowError, match="surface check"):
        read_check(values)


def test_empty_fields_are_filled_from_the_rest_and_recognised_again() -> None:
    entry = draft(HEDGE, TAXONOMY)
    assert (entry.polarity, entry.own, entry.needs_cue) == ("positive", True, True)
    found = parse_guideline(entry.guideline)
    assert found.asked_for == HEDGE.definition
    assert [e.variant for e in found.examples_of(ExampleKind.GOOD)] == [HEDGE.example]
    assert as_written(entry) == HEDGE
    own = checked(HEDGE, prompt_line="hearsay such as {cue}", guideline="Rule: no gossip.")
    assert as_written(draft(own, TAXONOMY)) == own


def test_the_prompt_asks_for_one_of_its_own_cues() -> None:
    entry = draft(HEDGE, TAXONOMY)
    cues = {sample_cues([entry], seed=seed, anchor_uid="a")[entry.id] for seed in range(30)}
    assert cues == set(HEDGE.surface_check.require_words)
    asked = fill("{text}\n{types}", text="It is.", types=[entry], cues={entry.id: "they whisper"})
    assert asked.endswith("The claim is what others say, with a cue such as they whisper")


def test_a_sentence_is_tried_out_before_the_type_is_whole() -> None:
    entry = sketch(checked(HEDGE, label="", definition="", example_anchor="", example=""))
    tried = try_out(entry, anchor="It is open.", text="They whisper that it is open.")
    assert tried == ("they whisper", [])
    tried = try_out(entry, anchor="It is open.", text="They whisper that it is not open.")
    assert len(tried.problems) == 1 and "negator" in tried.problems[0]
    free = sketch(checked(NEGATION, surface_check={}))
    assert try_out(free, anchor="It is open.", text="It is shut.").problems == []


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_texts_are_kept_as_texts_or_refused(text: str) -> None:
    wanted = checked(
        NEGATION,
        label=text[:40],
        definition=text[:999] + " " * 10,
        surface_check=SurfaceCheck(),
        guideline=text,
    )
    with contextlib.suppress(HedgerowError):  # such as a control character in it
        entry = draft(wanted, TAXONOMY)
        asked = fill("{text}|{types}", text="It is.", types=[entry], cues={})
        assert asked.startswith(f'It is.|1. "{entry.id}": {entry.label}')
        assert "\n" not in entry.prompt_line
