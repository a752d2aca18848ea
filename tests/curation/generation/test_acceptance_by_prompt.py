"""Acceptance by prompt version: counts, shares and their intervals."""

import pytest
from scipy.stats import binomtest
from sqlalchemy import Engine

from curation.generation.acceptance_by_prompt import acceptance_by_prompt
from curation.generation.examples.few_shot import Example
from curation.generation.examples.versions import save_with_examples
from curation.generation.prompts import JUDGE, prompt_versions, seed_prompts
from curation.review import actions
from curation.review.actions import shown
from db.engine import writing
from db.errors import HedgerowError
from tests.support.databases import both_databases
from tests.support.factories import add_family, person

SHOWN = [Example("v", "verbal", "a", "The road is long.", "The road is not long.")]


@both_databases
def test_versions_are_compared_by_the_decisions_on_their_variants(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
        seed_prompts(session)
        before = prompt_versions(session, "negation")[0]
        after = save_with_examples(session, before, SHOWN, author_id=ada)
        verdicts = {before.id: "aeerr.", after.id: "aaaar"}
        number = 0
        for prompt, decided in verdicts.items():
            for verdict in decided:
                number += 1
                text = f"Bridge {number} is safe."
                variant = add_family(session, text, subject=f"bridge {number}")["verbal"]
                variant.prompt_version_id, variant.provider, variant.model = prompt, "openai", "m"
                session.flush()
                card = shown(variant)
                if verdict == "a":
                    actions.accept(session, card, reviewer_id=ada)
                elif verdict == "e":
                    actions.edit(session, card, reviewer_id=ada, text=f"{variant.text} Really.")
                elif verdict == "r":
                    actions.reject(session, card, reviewer_id=ada, reason="wrong_scope")
        one, other = acceptance_by_prompt(session)
    assert (one.type_id, one.model, one.version, one.examples) == ("verbal", "m", 1, 0)
    assert (other.version, other.examples) == (2, 1)
    assert (one.outcomes.decided, one.outcomes.pending, other.outcomes.decided) == (5, 1, 5)
    assert (one.as_written.value, other.as_written.value) == (1 / 5, 4 / 5)
    limits = binomtest(3, 5).proportion_ci(0.95)
    assert one.acceptance == pytest.approx((3 / 5, limits.low, limits.high))


def test_examples_need_a_prompt_that_asks_for_variants(engine: Engine) -> None:
    with writing(engine) as session:
        seed_prompts(session)
        parent = prompt_versions(session, JUDGE)[0]
        with pytest.raises(HedgerowError, match="have no examples"):
            save_with_examples(session, parent, SHOWN, author_id=None)
        with pytest.raises(HedgerowError, match="found none"):
            save_with_examples(session, prompt_versions(session, "hedge")[0], [], author_id=None)
