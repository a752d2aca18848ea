"""Every text that teaches negation comes from the release, where people can review it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Engine, update

from curation.corpora.corpus import CORPORA
from curation.corpora.loading import KIND, add_families, missing_families
from curation.release import triples
from curation.release.freezing import create_release, get_release
from curation.review.bulk import apply_rule, parse_rule
from db.engine import reading, writing
from db.models import Anchor, RunState, Split, Verdict
from db.runs import create_run
from db.settings import Settings
from hedgerow.losses.families import Role
from tests.curation.support.families import person
from tests.support.checkout import ROOT
from tests.training.support.trainings import ask, train
from training.finetune.collator import FamilyCollator
from training.recipe.schema import Recipe
from training.retention.bundled_texts import bundled_texts

DATA = {
    "training/benchmarks/results/published.json",
    "training/benchmarks/results/semantoneg_table_8.json",
    "training/evaluation/paper_figure_1.json",
    "training/evaluation/probe_groups.jsonl",
    "training/evaluation/retrieval_questions.jsonl",
    "training/retention/documents.jsonl",
    "training/retention/topics.txt",
}
"""Figures of papers, evaluation sentences, and retention text."""


def words(texts: Sequence[str]) -> set[str]:
    return {word.lower() for text in texts for word in re.findall(r"\w+", text)}


@pytest.mark.slow
def test_every_text_with_a_role_comes_from_the_release_and_the_others_are_retention_texts(
    project: Engine, settings: Settings, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(project) as session:
        for corpus in CORPORA.values():
            run = create_run(session, kind=KIND, parameters={})
            run.state = RunState.DONE
            missing = missing_families(session, corpus)
            add_families(session, corpus, dict([*missing.items()][:40]), run_id=run.id)
        ada, rule = person(session).id, parse_rule("levenshtein > 0")
        apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=ada)
        session.execute(update(Anchor).values(split=Split.TRAIN))
        create_release(session)
    made: list[dict[str, Any]] = []
    collate = FamilyCollator.__call__

    def recorded(self: FamilyCollator, items: Sequence[int]) -> dict[str, Any]:
        made.append(collate(self, items))
        return made[-1]

    monkeypatch.setattr(FamilyCollator, "__call__", recorded)
    changes = ["max_steps=none", "epochs=2", "sources=Hedgerow claims:0.5", "types=word:0.5"]
    run = train(project, settings, ask(project, recipe.with_overrides(changes)))
    assert run.state == RunState.DONE
    with reading(project) as session:
        families = list(triples.families(session, get_release(session).id))
        sources = {family.source for family in families}
    anchors = {family.anchor for family in families}
    variants = {variant.text for family in families for variant in family.variants}
    assert {corpus.source for corpus in CORPORA.values()} <= sources
    assert len(made) == run.result["steps"] > 40
    seen = {role: set[str]() for role in Role}
    for batch in made:
        for text, role in zip(batch["text"].tolist(), batch["role"].tolist(), strict=True):
            seen[Role(role)].add(batch["texts"][text])
    assert all(seen.values())
    assert seen.pop(Role.ANCHOR) <= anchors
    assert set().union(*seen.values()) <= variants
    bundled = {entry.text for entry in bundled_texts()}
    others = {text for batch in made for text in batch["more"]} - bundled
    assert others & anchors
    assert words([*others]) <= words([*anchors])  # edited copies exchange words with each other


def test_training_ships_no_text_that_teaches_negation() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "training").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert found == DATA
