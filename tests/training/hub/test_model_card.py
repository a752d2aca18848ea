"""The card of a trained model: complete at every moment, honest, and safe to show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard
from sqlalchemy import Engine

from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run, Split
from db.runs import get_run
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.publishing import add_model
from tests.training.support.trainings import ask, train
from training.evaluation.before_after import measure_before_and_after
from training.hub.model_card import LOCAL_MODEL, card_of, published, write_card
from training.recipe.schema import Recipe


def table(card: str) -> dict[str, tuple[str, ...]]:
    """The rows of all tables, by their first cells."""
    rows = [line.strip("| ").split(" | ") for line in card.splitlines() if line.startswith("| ")]
    return {first: tuple(rest) for first, *rest in rows}


def recipe_in(card: str) -> dict[str, Any]:
    """The recipe in a card, as somebody copies it."""
    found = re.search(r"^(`{3,})yaml\n(.*?)\n\1$", card, re.DOTALL | re.MULTILINE)
    assert found
    values: dict[str, Any] = yaml.safe_load(found[2])
    return values


def card_with(engine: Engine, number: int, **figures: Any) -> str:
    with reading(engine) as session:
        run = get_run(session, number)
        return card_of(session, run, run.result | figures)


def test_a_model_has_a_card_before_it_is_measured_and_a_full_one_after(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(project) as session:
        add_plain_family(session, 50, split=Split.VALIDATION)
    real, early = measure_before_and_after, []

    def measure(engine: Engine, *, folder: Path, **how: Any) -> int:
        early.append((folder / "README.md").read_text("utf-8"))
        return real(engine, folder=folder, **how)

    monkeypatch.setattr("training.runs.trainings.measure_before_and_after", measure)
    run = train(project, settings, ask(project, recipe))
    folder = settings.data_folder / run.result["model"]
    card = (folder / "README.md").read_text("utf-8")
    assert "triples ranked correctly" in early[0] and "Figure 1" not in early[0]
    rows = table(card)
    assert rows["triples ranked correctly"][:2] == ("held out", "2")
    assert rows["cosine of the contradicted sentence"][:2] == ("Figure 1", "1")
    assert rows["groups with the contradicted sentence farthest"][:2] == ("sixty groups", "60")
    assert rows["triples"] == (f"{run.result['triples']}",)
    assert rows["seed"] == ("1",) and rows["base"] == (LOCAL_MODEL,)
    assert str(settings.home) not in card and recipe.base_encoder not in card
    assert not [path for path in folder.rglob("*") if path.suffix in (".bin", ".part", ".pt")]
    held = "documents with questions and queries"
    assert held in card and recipe.retention
    plain = run.parameters | {"recipe": recipe.model_dump() | {"retention": 0}}
    with reading(project) as session:
        other = Run(**run.model_dump() | {"parameters": plain})
        poorer = card_of(session, other, other.result)
    assert held not in poorer


def test_the_card_says_which_sources_an_epoch_takes_a_part_of(
    engine: Engine, tiny_encoder: Path
) -> None:
    recipe = Recipe(sources={"A corpus": 0.25, "Elsewhere": 0.5})
    number = add_model(engine, tiny_encoder, recipe)
    card = card_with(engine, number)
    assert "only a share of these sources: 25% of *A corpus*. The next epoch" in card
    with writing(engine) as session:
        run = get_run(session, number)
        run.parameters = run.parameters | {"recipe": Recipe().model_dump(mode="json")}
    assert "a share of these sources" not in card_with(engine, number)


def test_the_header_is_what_the_hub_reads(engine: Engine, tiny_encoder: Path) -> None:
    number = add_model(engine, tiny_encoder, Recipe())
    data = ModelCard(card_with(engine, number)).data.to_dict()
    assert data["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert data["license"] == "apache-2.0" and data["language"] == ["en"]
    assert data["library_name"] == "sentence-transformers"
    assert data["pipeline_tag"] == "sentence-similarity"
    assert "datasets" not in data


def test_the_card_says_where_to_find_an_unknown_licence_of_the_base(
    engine: Engine, tiny_encoder: Path
) -> None:
    number = add_model(engine, tiny_encoder, Recipe(base_encoder="ada/own-encoder"))
    card = card_with(engine, number)
    assert "license" not in ModelCard(card).data.to_dict()
    assert table(card)["licence of the base"] == ("see the base model's page on the Hub",)


def test_hostile_names_break_neither_header_nor_markdown(
    engine: Engine, tiny_encoder: Path
) -> None:
    hostile = "x/y\n---\n```\n# Title\n<script>alert(1)</script> | [a](javascript:b)"
    number = add_model(
        engine,
        tiny_encoder,
        Recipe(
            base_encoder=hostile,
            sources={hostile: 0.5, "`````": 0.5},
            retention_file="/home/ada/own.txt",
            sts_file="/home/ada/sts.tsv",
        ),
    )
    card = card_with(engine, number)
    assert "base_model" not in ModelCard(card).data.to_dict()
    found = recipe_in(card)
    assert found["base_encoder"] == LOCAL_MODEL
    assert found["sources"] == {hostile: 0.5, "`````": 0.5}
    assert found["sts_file"] == found["retention_file"] == "a local file"
    assert "/home/ada" not in card
    prose = re.sub(r"^(`{3,}).*?^\1$", "", card, flags=re.DOTALL | re.MULTILINE)
    assert "<" not in prose and "# Title" not in prose and "](javascript" not in prose
    assert "A &#124; \\*first\\* &#60;b&#62;one" in prose


def test_the_card_says_who_wrote_and_decided_and_quotes_no_sentence(
    engine: Engine, tiny_encoder: Path
) -> None:
    number = add_model(engine, tiny_encoder)
    card = card_with(engine, number)
    with reading(engine) as session:
        from curation.release.freezing import get_release

        release = get_release(session)
        people = release.summary["decided_by"].get("person", 0)
    assert release.content_hash in card
    assert ("**No person has reviewed this data.**" in card) == (not people)
    assert "number 0" not in card and "The kettle" not in card


def test_each_figure_has_its_number_and_forgetting_is_reported(
    engine: Engine, tiny_encoder: Path
) -> None:
    number = add_model(engine, tiny_encoder, Recipe(early_stopping="questions"))
    held_out = {
        "before": {
            "ranked": 0.5,
            "ranked:word>verbal": 0.25,
            "drift": 0.0,
            "sts": 0.8,
            "retrieval": 0.81,
            "cosine:negation": 0.9,
            "cosine:negation:sd": 0.05,
        },
        "after": {
            "ranked": 0.75,
            "ranked:word>verbal": 1.0,
            "drift": 0.0625,
            "sts": 0.79,
            "retrieval": 0.75,
            "cosine:negation": 0.1,
            "cosine:negation:sd": 0.2,
        },
        "of": {
            "ranked": 12_000,
            "ranked:word>verbal": 8,
            "drift": 200,
            "sts": 1379,
            "retrieval": 300,
            "cosine:negation": 16,
        },
    }
    card = card_with(engine, number, held_out=held_out)
    rows = table(card)
    assert rows["triples ranked correctly"] == ("held out", "12,000", "50.0%", "75.0%")
    assert rows["word"] == ("verbal", "8", "25.0%", "100.0%")
    assert rows["mean cosine of anchor and negation"] == (
        "held out",
        "16",
        "0.900 (sd 0.050)",
        "0.100 (sd 0.200)",
    )
    assert rows["drift"] == ("held out", "200", "0.000", "0.062")
    assert rows["Spearman correlation with human scores"][1:] == ("1,379", "0.800", "0.790")
    retrieval = rows["retrieval (mean reciprocal rank)"]
    assert retrieval == ("bundled questions", "300", "0.810", "0.750")
    assert "MRR@10 on 300 bundled questions" in card
    assert (
        "drifted by 0.062, the STS correlation went from 0.800 to 0.790 and retrieval (MRR@10) "
        "went from 0.810 to 0.750. Evaluate"
    ) in card
    assert "the best `questions` on this split was kept" in card
    bare = card_with(engine, number)
    assert "None were measured." in bare and "it was not measured here" in bare


def test_a_card_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "model").mkdir()
    write_card(folder, "old")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(HedgerowError, match="No space left"):
            write_card(folder, "new")
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("README.md", "old")]


def test_a_published_card_says_where_the_model_is(engine: Engine, tiny_encoder: Path) -> None:
    card = published(card_with(engine, add_model(engine, tiny_encoder)), "ada/encoder")
    code = re.search(r"```python\n(.*?)```", card, re.DOTALL)
    assert code and 'SentenceTransformer("ada/encoder")' in code[1]
    compile(code[1], "card", "exec")
