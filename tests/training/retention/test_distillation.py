"""Preventing forgetting: the bundled texts, distillation, and the mean of two sets of weights."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.encoders.embeddings import MARKS
from curation.encoders.loading import load_encoder
from curation.language.tokens import NEGATOR_WORDS
from db.errors import HedgerowError
from tests.training.support.vectors import Vectors
from training.retention import distillation as module
from training.retention import texts as files
from training.retention.distillation import (
    QUERIES_OF_A_DOCUMENT,
    SCALE,
    SOFT_TARGETS,
    Distillation,
    Rankings,
    interpolate,
)
from training.retention.texts import (
    FEWEST_WORDS,
    OF_A_TOPIC,
    Document,
    Topic,
    bundled_texts,
    documents,
    edited,
    read_sentences,
    topics,
)

NAMES = ("baker", "judge", "sailor", "tailor", "widow", "miller", "porter")
TEXTS = [f"Sentence {number}." for number in range(12)]

TOPICS = [
    Topic((f"It rained in {place}.", f"Rain fell on {place}."), (f"{place} lies in the sun.",))
    for place in ("Lima", "Oslo", "Fez")
]


class AnyText(Vectors):
    """Gives every text its own direction."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__({})
        self._seed = seed

    def get_embedding_dimension(self) -> int:
        return 6

    def encode(self, texts: Sequence[str], **options: Any) -> np.ndarray:
        for text in texts:
            rng = np.random.default_rng(crc32(text.encode()) + self._seed)
            self.rows[text] = rng.normal(size=6)
        return super().encode(texts, **options).astype(np.float32)


def distillation(model: Any = None, texts: Sequence[str] = (*TEXTS, *TEXTS), **how: Any) -> Any:
    values = {"weight": 1.0, "texts_a_step": 4, "steps": 5, "seed": 0} | how
    return Distillation(model or AnyText(), texts, **values)


def with_edits(seed: int = 0) -> Any:
    texts = [f"The {name} walked slowly through the old town." for name in NAMES]
    return distillation(texts=texts, seed=seed, edits=True)


def with_topics(a_step: int = 2) -> Any:
    texts = [f"The {name} slept." for name in NAMES]
    how = {"topics": TOPICS, "topics_a_step": a_step}
    return distillation(texts=texts, texts_a_step=2, steps=9, **how)


def moved(old: np.ndarray, new: np.ndarray) -> float:
    """How far embeddings and their cosines have moved."""
    cosines = np.square(old @ old.T - new @ new.T).mean()
    return float(np.mean(1 - (old * new).sum(axis=1)) + np.sqrt(cosines))


@pytest.mark.slow
def test_half_of_the_texts_may_be_edited_copies_whose_cosines_count() -> None:
    import torch

    loss = with_edits()
    # If no edit failed, the copies are in the order of their originals.
    sampled = next(texts for step in range(1, 6) if len(texts := loss.draw(step)) == 4)
    assert all(text.endswith("walked slowly through the old town.") for text in sampled[:2])
    old = AnyText().encode(sampled)
    assert float(loss.loss(torch.from_numpy(old), sampled)) == pytest.approx(0.0, abs=1e-5)
    # Rotating all of them keeps every cosine. Moving the texts of one pair changes its cosine.
    assert float(loss.loss(torch.from_numpy(-old), sampled)) == pytest.approx(2.0, abs=1e-5)
    new = old.copy()
    new[2] = -new[2]  # the copy of the first
    of_pairs = np.square((new @ new.T - old @ old.T)[[0, 1], [2, 3]]).mean()
    expected = moved(old, new) + np.sqrt(of_pairs)
    assert float(loss.loss(torch.from_numpy(new), sampled)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_cosines_among_texts_about_one_topic_count_once_more() -> None:
    import torch

    loss = with_topics()
    sampled = loss.draw(1)
    complete = [topic.texts for topic in TOPICS if topic.same[0] in sampled]
    assert len(complete) == 2 and set(sampled[2:]) >= {t for texts in complete for t in texts}
    pairs = [pair for texts in complete for pair in combinations(texts, 2)]
    one, other = ([sampled.index(pair[side]) for pair in pairs] for side in (0, 1))
    old = AnyText().encode(sampled)
    new = np.roll(old, 1, axis=0)
    of_topics = np.square((new @ new.T - old @ old.T)[one, other]).mean()
    value = float(loss.loss(torch.from_numpy(new), sampled))
    assert value == pytest.approx(moved(old, new) + np.sqrt(of_topics), rel=1e-4)
    about = {text for topic in TOPICS for text in topic.texts}
    assert set(with_topics(9).draw(1)) >= about, "all of them, if there is room"
    assert {text for step in range(1, 10) for text in loss.draw(step)} >= about
    assert with_topics(0).draw(1) == sampled[:2]


@pytest.mark.slow
def test_it_is_how_far_embeddings_and_their_cosines_have_moved_times_the_weight() -> None:
    import torch

    sampled = distillation().draw(2)
    old, new = AnyText().encode(sampled), AnyText(seed=1).encode(sampled)
    expected = moved(old, new)
    for weight in (1.0, 3.0):
        embeddings = torch.from_numpy(new).requires_grad_()
        value = distillation(weight=weight).loss(embeddings, sampled)
        value.backward()
        assert float(value.detach()) == pytest.approx(weight * expected, rel=1e-5)
        assert expected > 0.1 and bool((embeddings.grad != 0).any(dim=1).all())
    third = distillation(texts=TEXTS, steps=9, every=3)
    assert [bool(third.draw(step)) for step in range(1, 7)] == [False, False, True] * 2
    sampled = third.draw(3)
    assert sampled == distillation().draw(3)
    embeddings = torch.from_numpy(AnyText(seed=1).encode(sampled))
    often = float(distillation().loss(embeddings, sampled))
    assert float(third.loss(embeddings, sampled)) == pytest.approx(3 * often), "made up for"


@pytest.mark.slow
@pytest.mark.parametrize("made", [lambda seed: distillation(seed=seed), with_edits])
def test_the_draw_of_a_step_depends_on_the_seed_and_the_step_alone(
    made: Callable[[int], Any],
) -> None:
    first, again, other = made(0), made(0), made(1)
    draws = {step: first.draw(step) for step in range(1, 6)}
    assert {step: again.draw(step) for step in (5, 3, 1, 2, 4)} == draws
    assert {step: other.draw(step) for step in range(1, 6)} != draws
    assert len({tuple(draw) for draw in draws.values()}) == 5
    assert all(len(set(draw)) == len(draw) for draw in draws.values())


@pytest.mark.slow
def test_only_texts_that_will_be_sampled_are_encoded_and_each_once() -> None:
    model, many = AnyText(), AnyText()
    sampled = distillation(model, steps=1).draw(1)
    assert sorted(model.encoded) == sorted(sampled)
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
    for searched in (10**6, 14 * 10):
        monkeypatch.setattr(files, "SEARCHED_BYTES", searched)
        assert files.lines_of(path) == (1_000, 11)
    path.write_text("\n", encoding="utf-8")
    assert files.lines_of(path) == (0, 0.0)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 1.5])
def test_weights_are_on_the_line_between_base_and_finetuned(
    tiny_encoder: Path, share: float
) -> None:
    import torch

    model = load_encoder(str(tiny_encoder), device="cpu")
    old = {name: value.clone() for name, value in model.state_dict().items()}
    new = {name: value + 1 if value.is_floating_point() else value for name, value in old.items()}
    interpolate(model, old, new, share)
    for name, value in model.state_dict().items():
        if share in (0.0, 1.0):
            assert torch.equal(value, (old, new)[int(share)][name])
        elif value.is_floating_point():
            torch.testing.assert_close(value, old[name] + share)
    inner = model[0].model
    while len(inner.encoder.layer) < 4:
        inner.encoder.layer.append(copy.deepcopy(inner.encoder.layer[0]))
    old = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    new = {name: torch.ones_like(value) for name, value in old.items()}
    interpolate(model, old, new, 0.75, upper=1 / 3)
    of_layer = [layer.output.dense.weight.mean().item() for layer in inner.encoder.layer]
    assert of_layer == pytest.approx([0.75] * 3 + [0.25]), "the upper third gets its part"
    assert inner.embeddings.word_embeddings.weight.mean().item() == pytest.approx(0.75)


def test_sentences_are_the_distinct_lines_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines.txt"
    with pytest.raises(HedgerowError, match="Could not read"):
        read_sentences(path)
    path.write_text("\ufeffOne.\r\n\n  Two. \nOne.\nThree\u2028four.\n", encoding="utf-8")
    assert read_sentences(path) == ["One.", "Two.", "Three\u2028four."]
    path.write_text('id,text\n1,"One, too."\n2,\n', encoding="utf-8")
    assert read_sentences(path) == ["One, too."]
    path.write_text(" \n\n", encoding="utf-8")
    with pytest.raises(HedgerowError, match="only blank lines"):
        read_sentences(path)
    monkeypatch.setattr(files, "LARGEST_FILE", 2)
    with pytest.raises(HedgerowError, match="too large"):
        read_sentences(path)


DOCUMENTS = [
    Document(
        f"{name} mills", f"About {name}.", (f"Who mills {name}?", f"Why {name}?"), name, "I need it"
    )
    for name in ("oats", "rye", "maize")
]


def test_a_draw_takes_whole_documents_and_some_of_the_queries_of_each() -> None:
    rankings = Rankings(DOCUMENTS)
    sampled = rankings.draw(2, random.Random(1))
    passages = [document for document in DOCUMENTS if document.passage in sampled]
    assert len(passages) == 2 and len(sampled) == 2 * (1 + QUERIES_OF_A_DOCUMENT)
    for document in passages:
        place = sampled.index(document.passage) + 1
        assert set(sampled[place : place + QUERIES_OF_A_DOCUMENT]) <= set(document.queries)
    everything = {text for seed in range(50) for text in rankings.draw(9, random.Random(seed))}
    assert everything == rankings.texts
    assert Rankings([]).draw(8, random.Random(0)) == []


@pytest.mark.slow
def test_cosines_of_queries_with_passages_count_and_those_among_passages_do_not() -> None:
    import torch

    rankings = Rankings(DOCUMENTS)
    texts = ["elsewhere", "About rye.", "rye", "About oats.", "Why oats?"]
    old = torch.nn.functional.normalize(torch.randn(5, 6, generator=torch.Generator()), dim=1)
    assert float(rankings.loss(old, old, texts)) == pytest.approx(0.0, abs=1e-5)
    turned = old.clone()
    turned[0] = -turned[0]  # neither a query nor a passage
    assert float(rankings.loss(turned, old, texts)) == pytest.approx(0.0, abs=1e-5)
    assert float(rankings.loss(turned, old, texts[2:3])) == 0, "there is nothing to rank"
    new = old.clone()
    new[2], new[1] = old[4], old[0]
    before, after = (
        np.array([[float(rows[q] @ rows[p]) for p in (1, 3)] for q in (2, 4)])
        for rows in (old, new)
    )
    wanted, found = (np.exp(SCALE * rows) for rows in (before, after))
    wanted, found = (rows / rows.sum(axis=1, keepdims=True) for rows in (wanted, found))
    expected = np.sqrt(np.square(after - before).mean())
    expected += SOFT_TARGETS * (wanted * np.log(wanted / found)).sum(axis=1).mean()
    assert float(rankings.loss(new, old, texts)) == pytest.approx(expected, rel=1e-3)


SENTENCES = [
    "The old ferry crossed the bay before the fog came down on Tuesday.",
    "Nobody on the jury had not heard of the trial, they didn't say so.",
    "Two.",
    "",
]

WORDS = st.text(alphabet="abcdefg'", min_size=1, max_size=6)
WORDY = st.lists(st.one_of(WORDS, st.sampled_from(["not", "no", "never", "isn't"]))).map(" ".join)


def negators(text: str) -> list[str]:
    return [
        word
        for word in text.lower().replace(",", "").split()
        if word in NEGATOR_WORDS or word.endswith("n't")
    ]


def test_a_sentence_has_shorter_copies_and_such_with_other_words_unless_it_has_few() -> None:
    text = SENTENCES[0]
    copies = {edited(text, [SENTENCES[1]], random.Random(seed)) for seed in range(60)}
    own = set(text.split())
    assert any(set(copy.split()) < own and copy in text for copy in copies)
    assert any(set(copy.split()) < own and copy not in text for copy in copies)
    assert any(set(copy.split()) - own for copy in copies)
    assert len(copies) > 20
    for short in (*SENTENCES[2:], " ".join("abc"[:FEWEST_WORDS])):
        assert edited(short, SENTENCES, random.Random(0)) == short


@given(text=WORDY, other=WORDY, seed=st.integers(0, 1000))
def test_no_edit_takes_or_brings_a_negator(text: str, other: str, seed: int) -> None:
    copy = edited(text, [other, SENTENCES[1]], random.Random(seed))
    assert negators(copy) == negators(text)
    assert copy == edited(text, [other, SENTENCES[1]], random.Random(seed))


def test_every_text_of_every_topic_and_document_is_different_and_listed_with_its_kind() -> None:
    assert len(topics()) > 2100 and len(documents()) >= 590
    assert {len(topic.texts) for topic in topics()} == {OF_A_TOPIC}
    assert {len(topic.same) for topic in topics()} == {2, 3}
    sentences = [text for topic in topics() for text in topic.texts]
    passages = [document.passage for document in documents()]
    for texts in (sentences, passages, *([d.passage, *d.queries] for d in documents())):
        assert len(set(texts)) == len(texts)
    assert {len(document.queries) for document in documents()} == {5}
    assert all(text == text.strip() != "" for _, _, text in bundled_texts())
    assert not any("|" in text or "<" in text for text in sentences)
    assert {1 < len(text.split()) <= 70 for text in sentences} == {True}
    kinds = Counter(entry.kind for entry in bundled_texts())
    of_topics = [kinds[kind] for kind in ("sentence", "paraphrase", "other sentence")]
    assert of_topics[0] == len(topics()) and sum(of_topics) == len(sentences)
    of_documents = [kinds[kind] for kind in ("title", "passage", "query", "need", "question")]
    assert of_documents == [len(documents())] * 4 + [2 * len(documents())]
    assert bundled_texts()[0] == ("Topic 1", "sentence", topics()[0].same[0])
    assert bundled_texts()[-1] == (f"Document {len(documents())}", "need", documents()[-1].need)
