"""Batches of families for other people's trainers: the sampler, the collator, and the loss."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

import hedgerow.losses
from tests.hedgerow.support.rows import row, rows
from tests.training.support.lazily import Lazily
from tests.training.support.trainings import FAMILIES
from training.finetune.compute.text_encoding import embed
from training.losses.families import Role
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from pathlib import Path

    from sentence_transformers import SentenceTransformer

    from hedgerow.losses import FamilyBatchSampler, FamilyCollator

torch = Lazily("torch")
MEMBERS = [Role.ANCHOR, Role.PARAPHRASE, Role.HEDGE, Role.HEDGE, Role.NEGATION, Role.NEGATION]


@pytest.fixture
def model(tiny_encoder: Path) -> SentenceTransformer:
    """Without dropout."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(tiny_encoder), device="cpu").eval()


def sampler(
    given: list[dict[str, Any]],
    size: int = 5,
    *,
    drop_last: bool = False,
    seed: int = 0,
    epoch: int = 0,
) -> FamilyBatchSampler:
    from datasets import Dataset

    found = hedgerow.losses.FamilyBatchSampler(
        Dataset.from_list(given),
        batch_size=size,
        drop_last=drop_last,
        generator=torch.Generator(),
        seed=seed,
    )
    found.set_epoch(epoch)
    return found


def test_an_epoch_takes_each_row_once_in_an_order_that_follows_from_seed_and_epoch() -> None:
    for drop_last, sizes in ((False, [5, 5, 2]), (True, [5, 5])):
        found = sampler(rows(), drop_last=drop_last)
        batches = list(found)
        assert [len(batch) for batch in batches] == sizes and len(found) == len(sizes)
        assert len({number for batch in batches for number in batch}) == sum(sizes)
    first = list(sampler(rows()))
    assert list(sampler(rows())) == first and list(sampler(rows(), seed=1)) != first
    assert list(sampler(rows(), epoch=1)) != first


def test_rows_with_nothing_to_compare_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    given = rows()
    given[2]["negations"] = []
    given[5] |= {"hedges": [], "paraphrases": None}
    with caplog.at_level(logging.INFO):
        found = sampler(given)
    assert sorted(number for batch in found for number in batch) == [0, 1, 3, 4, *range(6, 12)]
    assert len(found) == 2 and "10 of 12 rows" in caplog.text


def test_no_batch_has_two_families_of_one_anchor() -> None:
    given = [*rows(), *rows()]
    for epoch in range(3):
        batches = list(sampler(given, 6, epoch=epoch))
        for batch in batches:
            assert len({given[number]["anchor"] for number in batch}) == len(batch)
        assert sorted(number for batch in batches for number in batch) == list(range(24))


def test_rows_of_which_no_batch_can_be_made_are_refused_before_the_first_step() -> None:
    pairs = [{"sentence1": "It rains.", "sentence2": "It is dry.", "label": 0}]
    text = [row("kettle", hedges="one text") | {"paraphrases": None}]
    few = rows(["kettle", "ladder", "violin"])
    for given, fact in (
        (pairs, "found sentence1, sentence2, label"),
        (text, "column hedges"),
        (few, "5 families.*found 3"),
        ([row("kettle", negations=[])], "none among 1 "),
    ):
        with pytest.raises(ValueError, match=fact):
            sampler(given, drop_last=True)


def collator(model: SentenceTransformer, **how: Any) -> FamilyCollator:
    return hedgerow.losses.FamilyCollator(model.preprocess, **how)


def texts_of(model: SentenceTransformer, batch: dict[str, Any], column: str = "text") -> list[str]:
    return list(
        model.tokenizer.batch_decode(batch[f"{column}_input_ids"], skip_special_tokens=True)
    )


def test_each_text_comes_once_and_has_its_place_and_role(model: SentenceTransformer) -> None:
    shared = {**row("kettle"), "hedges": ["Maybe."]}
    batch = collator(model)([row("ladder"), shared, row("violin", hedges=["Maybe."])])
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
    assert places[1, 2] == places[2, 2] and label[1, 5].tolist() == [-1, -1]


def test_other_columns_and_columns_that_are_missing_make_no_difference(
    model: SentenceTransformer,
) -> None:
    collate = collator(model)
    expected = collate([row("kettle", unsupported=[])])
    slim = {k: v for k, v in row("kettle").items() if k in ("anchor", "paraphrases", "hedges")}
    for one in (
        {**slim, "negations": row("kettle")["negations"]},
        row("kettle", unsupported=None, score=1.0, label=3, id="7"),
    ):
        found = collate([one])
        assert found.keys() == expected.keys()
        assert all((found[key] == expected[key]).all() for key in ("label", "text_input_ids"))


def test_prompts_are_put_in_front_of_all_texts_or_of_those_they_are_for(
    model: SentenceTransformer,
) -> None:
    texts = texts_of(model, collator(model, prompts="claim: ")(rows(["kettle"])))
    assert len(texts) == 6 and all(text.startswith("claim : ") for text in texts)
    collate = collator(model, prompts={"anchor": "query: ", "text": "passage: "})
    batch = collate([row("kettle"), row("ladder", hedges=["The kettle is old."])])
    anchors, variants = texts_of(model, batch, "anchor"), texts_of(model, batch)
    assert anchors == ["query : the kettle is old.", "query : the ladder is old."]
    assert len(variants) == 5 + 4 and all(text.startswith("passage : ") for text in variants)
    places, roles = batch["label"].unbind(-1)
    assert places[roles == Role.ANCHOR].tolist() == [0, 1]
    assert places[1, 2] == 2 + variants.index("passage : the kettle is old.")
    of_data_sets = {"news": {"anchor": "query: "}, "laws": {"anchor": "law: "}}
    batch = collator(model, prompts=of_data_sets)([row("kettle", dataset_name="laws")])
    assert batch["dataset_name"] == "laws"
    assert texts_of(model, batch, "anchor") == ["law : the kettle is old."]
    assert not texts_of(model, batch)[0].startswith("law")


def test_rows_and_prompts_that_cannot_be_used_are_refused_in_a_sentence(
    model: SentenceTransformer,
) -> None:
    triple = {"anchor": "It rains.", "positive": "It may rain.", "negative": "It is dry."}
    for given, fact in (
        (row("kettle", hedges="It may be."), "column hedges, found 'It may be"),
        (row("kettle", negations=[None]), r"column negations, found \[None\]"),
        (row("kettle", anchor=None), "column anchor, found None"),
        (row("kettle", negations=[]), "'The kettle is old.'.*batch_sampler="),
        (row("kettle", hedges=[], paraphrases=None), "batch_sampler="),
        (triple, "found anchor, positive, negative"),
    ):
        with pytest.raises(ValueError, match=fact):
            collator(model)([given])
    with pytest.raises(ValueError, match="found query"):
        collator(model, prompts={"query": "query: "})(rows(["kettle"]))


def features(batch: dict[str, Any], columns: Sequence[str] = ("text",)) -> list[dict[str, Any]]:
    """The arguments that the library's trainer passes for a collator's batch."""
    return [
        {
            name.removeprefix(f"{column}_"): value
            for name, value in batch.items()
            if name.startswith(column)
        }
        for column in columns
    ]


def gradients(model: SentenceTransformer) -> Any:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize(
    "changes",
    [{}, {"loss": "family", "scale": 30.0}, {"negation_margin": 0.3, "order_weight": 2.0}],
)
def test_it_is_the_loss_of_hedgerows_own_trainings(
    model: SentenceTransformer, changes: dict[str, Any]
) -> None:
    """Equal in value and gradient; without arguments, equal to the preset *standard*."""
    from training.finetune.step import objective
    from training.losses.batches import labelled

    distinct, labels = labelled(FAMILIES)
    recipe = Recipe(**changes)
    embeddings = embed(model, [text for _, text in distinct])
    expected = objective(recipe, model).compute_loss_from_embeddings(embeddings, labels)
    expected.backward()
    expected_gradients = gradients(model)
    model.zero_grad()
    arguments = {name: value for name, value in changes.items() if name != "loss"}
    if recipe.loss == "family":
        arguments["symmetric"] = False
    batch = collator(model)(rows())
    loss = hedgerow.losses.FamilyLoss(model, **arguments)(features(batch), batch["label"])
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    torch.testing.assert_close(gradients(model), expected_gradients, atol=1e-4, rtol=1e-3)
    if not changes:  # empty prompts only change how texts are grouped
        batch = collator(model, prompts={"anchor": "", "text": ""})(rows())
        columns = features(batch, ["anchor", "text"])
        again = hedgerow.losses.FamilyLoss(model)(columns, batch["label"])
        assert again.item() == pytest.approx(loss.item(), rel=1e-5)


def test_half_precision_rounds_no_cosine(model: SentenceTransformer) -> None:
    batch = collator(model)(rows())
    loss = hedgerow.losses.FamilyLoss(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        embeddings = model(features(batch)[0])["sentence_embedding"]
    loss.model = torch.nn.Module()
    loss.model.forward = lambda _: {"sentence_embedding": embeddings}
    expected = loss([{}], batch["label"])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(loss([{}], batch["label"]), expected)


def test_labels_of_another_collator_and_numbers_out_of_their_range_are_refused(
    model: SentenceTransformer,
) -> None:
    for labels in (None, torch.zeros(4), torch.zeros(4, 3)):
        with pytest.raises(ValueError, match="data_collator=FamilyCollator"):
            hedgerow.losses.FamilyLoss(model)([{}], labels)
    for name, value in (
        ("scale", 0.0),
        ("scale", float("nan")),
        ("negation_margin", 1.5),
        ("order_weight", -1.0),
    ):
        with pytest.raises(ValueError, match=f"{name} .*found {value}"):
            hedgerow.losses.FamilyLoss(model, **{name: value})


def test_a_missing_name_is_reported() -> None:
    assert {"FamilyBatchSampler", "FamilyCollator", "FamilyLoss"} <= set(dir(hedgerow.losses))
    with pytest.raises(AttributeError, match="'Loss'"):
        hedgerow.losses.Loss  # noqa: B018
