"""Prompts: the paper's wording, placeholders filled once, versions, and the choice of cues."""

from collections import Counter

import pytest
from sqlalchemy import Engine

from curation.content_uids import anchor_uid
from curation.generation.prompts import (
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
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.cues import HEDGE_CUES
from curation.taxonomy.roles import ROLES
from db.engine import writing
from db.errors import HedgerowError

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
