"""From rows to batches: each text once, prompts, and unusable rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hedgerow.losses import FamilyCollator
from hedgerow.losses.families import Role
from tests.hedgerow.losses.support.rows import row, rows

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MEMBERS = [Role.ANCHOR, Role.PARAPHRASE, Role.HEDGE, Role.HEDGE, Role.NEGATION, Role.NEGATION]


def texts_of(model: SentenceTransformer, batch: dict[str, Any], column: str = "text") -> list[str]:
    return list(
        model.tokenizer.batch_decode(batch[f"{column}_input_ids"], skip_special_tokens=True)
    )


def test_each_text_comes_once_and_has_its_place_and_role(model: SentenceTransformer) -> None:
    shared = {**row("kettle"), "hedges": ["Maybe."]}
    batch = FamilyCollator(model.preprocess)(
        [row("ladder"), shared, row("violin", hedges=["Maybe."])]
    )
    texts = texts_of(model, batch)
    assert len(texts) == len(set(texts)) == 6 + 5 + 4
    label = batch["label"]
    assert label.shape == (3, 6, 2)
    places, roles = label.unbind(-1)
    assert roles[0].tolist() == MEMBERS
    assert [texts[place] for place in places[1] if place >= 0] == [
        "the kettle is old.",
        "the kettle is not new.",
        "maybe.",
        "the kettle is not old.",
        "the kettle is new.",
    ]
    assert places[1, 2] == places[2, 2]
    assert label[1, 5].tolist() == [-1, -1]


def test_other_columns_and_columns_that_are_missing_make_no_difference(
    model: SentenceTransformer,
) -> None:
    collate = FamilyCollator(model.preprocess)
    expected = collate([row("kettle", unsupported=[])])
    slim = {k: v for k, v in row("kettle").items() if k in ("anchor", "paraphrases", "hedges")}
    for one in (
        {**slim, "negations": row("kettle")["negations"]},
        row("kettle", unsupported=None, score=1.0, label=3, id="7"),
    ):
        found = collate([one])
        assert found.keys() == expected.keys()
        assert all((found[key] == expected[key]).all() for key in ("label", "text_input_ids"))


def test_one_prompt_is_put_in_front_of_every_text(model: SentenceTransformer) -> None:
    batch = FamilyCollator(model.preprocess, prompts="claim: ")(rows(["kettle"]))
    texts = texts_of(model, batch)
    assert len(texts) == 6 and all(
        text.startswith("claim : the") or "claim : i" in text for text in texts
    )


def test_anchors_and_variants_can_have_prompts_of_their_own(model: SentenceTransformer) -> None:
    collate = FamilyCollator(model.preprocess, prompts={"anchor": "query: ", "text": "passage: "})
    batch = collate([row("kettle"), row("ladder", hedges=["The kettle is old."])])
    anchors, variants = texts_of(model, batch, "anchor"), texts_of(model, batch)
    assert anchors == ["query : the kettle is old.", "query : the ladder is old."]
    assert len(variants) == 5 + 4
    assert all(text.startswith("passage : ") for text in variants)
    places, roles = batch["label"].unbind(-1)
    assert places[roles == Role.ANCHOR].tolist() == [0, 1]
    assert places[1, 2] == 2 + variants.index("passage : the kettle is old.")


def test_data_sets_can_have_prompts_of_their_own(model: SentenceTransformer) -> None:
    prompts = {"news": {"anchor": "query: "}, "laws": {"anchor": "law: "}}
    collate = FamilyCollator(model.preprocess, prompts=prompts)
    batch = collate([row("kettle", dataset_name="laws")])
    assert batch["dataset_name"] == "laws"
    assert texts_of(model, batch, "anchor") == ["law : the kettle is old."]
    assert not texts_of(model, batch)[0].startswith("law")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"hedges": "It may be."},
            "Expected a list of texts in the column hedges, found 'It may be",
        ),
        (
            {"negations": [None]},
            r"Expected a list of texts in the column negations, found \[None\]",
        ),
        ({"anchor": None}, "Expected a text in the column anchor, found None"),
        ({"negations": []}, "'The kettle is old.' lacks one: pass batch_sampler="),
        ({"hedges": [], "paraphrases": None}, "lacks one: pass batch_sampler="),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_in_a_sentence(
    model: SentenceTransformer, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FamilyCollator(model.preprocess)([row("kettle", **changes)])


def test_wrong_columns_are_named(model: SentenceTransformer) -> None:
    triple = {"anchor": "It rains.", "positive": "It may rain.", "negative": "It is dry."}
    with pytest.raises(
        ValueError, match="Expected the columns .*, found anchor, positive, negative"
    ):
        FamilyCollator(model.preprocess)([triple])


def test_prompts_for_something_else_are_refused(model: SentenceTransformer) -> None:
    collate = FamilyCollator(model.preprocess, prompts={"query": "query: "})
    with pytest.raises(ValueError, match="Expected prompts for anchor and text, found query"):
        collate(rows(["kettle"]))
