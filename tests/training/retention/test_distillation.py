"""Preventing forgetting: distillation, the mean of two sets of weights, and files of sentences."""

import copy
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from curation.encoders.loading import load_encoder
from curation.encoders.reading_pace import MARKS
from db.errors import HedgerowError
from tests.training.support.vectors import Vectors
from training.retention import distillation as module
from training.retention.distillation import Distillation, interpolate, read_sentences
from training.retention.documents import documents
from training.retention.topics import Topic, topics

NAMES = ("baker", "judge", "sailor", "tailor", "widow", "miller", "porter")

TEXTS = [f"Sentence {number}." for number in range(12)]


def base(seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(len(TEXTS), 6))
    return Vectors(dict(zip(TEXTS, rows.tolist(), strict=True)))


def distillation(model: Vectors, *, weight: float = 1.0, steps: int = 5, seed: int = 0):
    return Distillation(
        model,
        [*TEXTS, *TEXTS],
        weight=weight,
        texts_a_step=4,
        steps=steps,
        seed=seed,  # type: ignore[arg-type]
    )


class AnyText(Vectors):
    """Gives every text its own direction."""

    def __init__(self) -> None:
        super().__init__({})

    def get_embedding_dimension(self) -> int:
        return 6

    def encode(self, texts: Sequence[str], **options: Any) -> np.ndarray:
        for text in texts:
            self.rows[text] = np.random.default_rng(crc32(text.encode())).normal(size=6)
        return super().encode(texts, **options).astype(np.float32)


def with_edits(model: Any, *, steps: int = 5, seed: int = 0) -> Distillation:
    texts = [f"The {name} walked slowly through the old town." for name in NAMES]
    return Distillation(
        model, texts, weight=1.0, texts_a_step=4, steps=steps, seed=seed, edits=True
    )


def test_half_of_the_texts_may_be_edited_copies_whose_cosines_count() -> None:
    import torch

    model = AnyText()
    loss = with_edits(model)
    # If no edit failed, the copies are in the order of their originals.
    sampled = next(texts for step in range(1, 6) if len(texts := loss.draw(step)) == 4)
    assert [text.endswith("walked slowly through the old town.") for text in sampled[:2]] == [
        True
    ] * 2
    old = torch.from_numpy(model.encode(sampled))
    assert float(loss.loss(old, sampled)) == pytest.approx(0.0, abs=1e-5)
    # Rotating all of them keeps every cosine. Moving the texts of one pair changes its cosine.
    assert float(loss.loss(-old, sampled)) == pytest.approx(2.0, abs=1e-5)
    moved = old.clone()
    moved[2] = -moved[2]  # the copy of the first
    new = moved @ moved.T
    expected = (
        (1 - (moved * old).sum(dim=1)).mean()
        + (new - old @ old.T).square().mean().sqrt()
        + ((new - old @ old.T)[[0, 1], [2, 3]]).square().mean().sqrt()
    )
    assert float(loss.loss(moved, sampled)) == pytest.approx(float(expected), rel=1e-4)


def test_edited_copies_are_the_same_whatever_is_sampled_first() -> None:
    first, again = with_edits(AnyText()), with_edits(AnyText())
    draws = {step: first.draw(step) for step in range(1, 6)}
    assert {step: again.draw(step) for step in (5, 3, 1, 2, 4)} == draws
    assert with_edits(AnyText(), seed=1).draw(1) != draws[1]


def test_steps_without_it_are_made_up_for_by_the_others() -> None:
    import torch

    model, every = base(), distillation(base())
    third = Distillation(
        model,
        TEXTS,
        weight=1.0,
        texts_a_step=4,
        steps=9,
        seed=0,
        every=3,  # type: ignore[arg-type]
    )
    assert [bool(third.draw(step)) for step in range(1, 7)] == [False, False, True] * 2
    assert third.draw(3) == every.draw(3)
    moved = torch.from_numpy(base(seed=1).encode(every.draw(3)))
    assert float(third.loss(moved, third.draw(3))) == pytest.approx(
        3 * float(every.loss(moved, every.draw(3)))
    )


def test_an_unchanged_model_loses_nothing() -> None:
    import torch

    model = base()
    loss = distillation(model)
    sampled = loss.draw(1)
    embeddings = torch.from_numpy(model.encode(sampled)).requires_grad_()
    value = loss.loss(embeddings, sampled)
    assert float(value.detach()) == pytest.approx(0.0, abs=1e-5)


def test_it_is_how_far_embeddings_and_their_cosines_have_moved_times_the_weight() -> None:
    import torch

    model, other = base(), base(seed=1)
    sampled = distillation(model).draw(2)
    old, new = model.encode(sampled), other.encode(sampled)
    expected = np.mean(1 - (old * new).sum(axis=1)) + np.sqrt(
        np.square(old @ old.T - new @ new.T).mean()
    )
    for weight in (1.0, 3.0):
        embeddings = torch.from_numpy(new).requires_grad_()
        value = distillation(model, weight=weight).loss(embeddings, sampled)
        value.backward()
        assert (
            float(value.detach()) == pytest.approx(weight * expected, rel=1e-5) and expected > 0.1
        )
        assert embeddings.grad is not None and bool((embeddings.grad != 0).any(dim=1).all())


TOPICS = [
    Topic((f"It rained in {place}.", f"Rain fell on {place}."), (f"{place} lies in the sun.",))
    for place in ("Lima", "Oslo", "Fez")
]
ABOUT_THEM = {text for topic in TOPICS for text in topic.texts}


def with_topics(model: Any, *, a_step: int = 2):
    return Distillation(
        model,
        [f"The {name} slept." for name in NAMES],
        weight=1.0,
        texts_a_step=2,
        steps=9,
        seed=0,
        topics=TOPICS,
        topics_a_step=a_step,
    )


def test_cosines_among_texts_about_one_topic_count_once_more() -> None:
    import torch

    model = AnyText()
    loss = with_topics(model)
    sampled = loss.draw(1)
    complete = [topic.texts for topic in TOPICS if topic.same[0] in sampled]
    assert (
        len(complete) == 2
        and sampled[2:]
        and all(text in sampled for one in complete for text in one)
    )
    pairs = [pair for texts in complete for pair in combinations(texts, 2)]
    places = [(sampled.index(one), sampled.index(other)) for one, other in pairs]
    old = model.encode(sampled, normalize_embeddings=True)
    new = np.roll(old, 1, axis=0)
    changes = np.array([new[i] @ new[j] - old[i] @ old[j] for i, j in places])
    rest = np.mean(1 - (old * new).sum(axis=1)) + np.sqrt(
        np.square(old @ old.T - new @ new.T).mean()
    )
    value = float(loss.loss(torch.from_numpy(new), sampled))
    assert value == pytest.approx(rest + np.sqrt(np.square(changes).mean()), rel=1e-4)


def test_topics_are_sampled_whole_and_limited_by_their_number() -> None:
    everything = with_topics(AnyText(), a_step=9).draw(1)
    assert set(everything) >= ABOUT_THEM
    seen = {text for step in range(1, 10) for text in with_topics(AnyText()).draw(step)}
    assert seen >= ABOUT_THEM
    assert with_topics(AnyText(), a_step=0).draw(1) == with_topics(AnyText()).draw(1)[:2]


def test_turning_all_texts_together_leaves_the_cosines_and_moves_the_embeddings() -> None:
    import torch

    model = base()
    loss = distillation(model)
    sampled = loss.draw(1)
    value = loss.loss(torch.from_numpy(-model.encode(sampled)), sampled)
    assert float(value) == pytest.approx(2.0, abs=1e-5)  # 1 - cos, with a cosine of -1


def test_the_draw_of_a_step_depends_on_the_seed_and_the_step_alone() -> None:
    first, again, other = distillation(base()), distillation(base()), distillation(base(), seed=1)
    draws = {step: first.draw(step) for step in range(1, 6)}
    assert {step: again.draw(step) for step in (5, 3, 1, 2, 4)} == draws
    assert {step: other.draw(step) for step in range(1, 6)} != draws
    assert len({tuple(draw) for draw in draws.values()}) == 5
    assert all(len(set(draw)) == 4 for draw in draws.values())


def test_only_texts_that_will_be_sampled_are_encoded_and_each_once() -> None:
    model = base()
    sampled = set(distillation(model, steps=1).draw(1))
    assert sorted(model.encoded) == sorted(sampled)
    many = base()
    distillation(many, steps=10**9)
    assert sorted(many.encoded) == sorted(TEXTS)


def test_the_amount_to_read_is_that_of_the_steps_plus_all_texts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundled = module.characters_of_topics() + module.characters_of_documents()
    everything = 100 * (1 + module.EDITS) * (41 + MARKS) + bundled
    with_documents = module.reading(100, 41.0, steps=10**6)
    assert with_documents.before == everything
    passages = [MARKS + len(one.passage) for one in documents()]
    monkeypatch.setattr(module, "DOCUMENTS_A_STEP", 0)
    few = module.reading(100, 41.0, steps=10)
    of_topics = module.TOPICS_A_STEP * module.characters_of_topics() / len(topics())
    expected = (module.TEXTS_A_STEP * (41 + MARKS) + of_topics) / 2
    assert few == (expected, 10 * expected)
    of_passages = 8 * sum(passages) / len(passages) / 2
    assert of_passages < with_documents.a_step - few.a_step < 2 * of_passages


def test_lines_are_judged_by_the_beginning_of_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("Über alles.\n\n" * 1_000, encoding="utf-8")
    assert module.lines_of(path) == (1_000, 11)
    monkeypatch.setattr(module, "SEARCHED_BYTES", 14 * 10)
    assert module.lines_of(path) == (1_000, 11)
    path.write_text("\n", encoding="utf-8")
    assert module.lines_of(path) == (0, 0.0)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 1.5])
def test_weights_are_on_the_line_between_base_and_finetuned(
    tiny_encoder: Path, share: float
) -> None:
    import torch

    model = load_encoder(str(tiny_encoder), device="cpu")
    old = {name: value.clone() for name, value in model.state_dict().items()}
    new = {
        name: value + 0.25 if value.is_floating_point() else value for name, value in old.items()
    }
    interpolate(model, old, new, share)
    for name, value in model.state_dict().items():
        if share in (0.0, 1.0):
            assert torch.equal(value, (old, new)[int(share)][name])
        elif value.is_floating_point():
            torch.testing.assert_close(value, old[name] + share * 0.25)


def test_the_upper_third_of_the_layers_gets_its_part_of_the_share(tiny_encoder: Path) -> None:
    import torch

    model = load_encoder(str(tiny_encoder), device="cpu")
    layers = model[0].model.encoder.layer
    while len(layers) < 4:
        layers.append(copy.deepcopy(layers[0]))
    old = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    new = {name: torch.ones_like(value) for name, value in old.items()}
    interpolate(model, old, new, 0.75, upper=1 / 3)
    of_layer = [layer.output.dense.weight.mean().item() for layer in layers]
    assert of_layer == pytest.approx([0.75] * 3 + [0.25])
    assert model[0].model.embeddings.word_embeddings.weight.mean().item() == pytest.approx(0.75)


def test_sentences_are_the_distinct_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("\ufeffOne.\r\n\n  Two. \nOne.\nThree\u2028four.\n", encoding="utf-8")
    assert read_sentences(path) == ["One.", "Two.", "Three\u2028four."]


def test_a_file_without_sentences_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines.txt"
    with pytest.raises(HedgerowError, match="Could not read"):
        read_sentences(path)
    path.write_text(" \n\n", encoding="utf-8")
    with pytest.raises(HedgerowError, match="one sentence per line .* found none"):
        read_sentences(path)
    monkeypatch.setattr(module, "LARGEST_FILE", 2)
    with pytest.raises(HedgerowError, match="too large"):
        read_sentences(path)
