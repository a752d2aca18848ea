"""The parts of a model card: its fixed sentences, its form, and the metrics with their data."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.formatting import markdown_table, percent
from training.evaluation.general_ability import RETRIEVAL, WHAT_IT_IS
from training.evaluation.held_out import (
    COSINE,
    DRIFT,
    FAMILIES,
    MOST_FAMILIES,
    QUESTIONS,
    RANKED,
    SPREAD,
    STS,
)
from training.evaluation.probe_sets import FIGURE_1_SET, GROUPS_SET, stored_probes
from training.evaluation.probes import probe_cosines
from training.evaluation.similarity import ROLES, GroupScores, find_groups, score
from training.recipe.schema import Recipe

# -- The fixed sentences of a trained model's card ------------------------------------------------


PLACE = "PATH OR HUB NAME OF THIS MODEL"
"""Placeholder for the model's path or name in the card, until it is published."""

USE = f"""\
```python
from sentence_transformers import SentenceTransformer
model = SentenceTransformer("{PLACE}")
embeddings = model.encode(["The door is open.", "The door is not open."])
print(model.similarity(embeddings, embeddings))
```"""

USE_ADAPTER = f"""\
```python
from sentence_transformers import SentenceTransformer
model = SentenceTransformer("BASE")
model.load_adapter("{PLACE}")
embeddings = model.encode(["The door is open.", "The door is not open."])
print(model.similarity(embeddings, embeddings))
```"""
"""BASE is replaced by the name of the encoder that the adapter changes."""

SUMMARY = """\
Embeds sentences so that a negation is far from the sentence that it negates, while a hedge or a
paraphrase stays close. Trained with Hedgerow as in *Learning Robust Negation Text Representations*
(section 3.2): training pulls hedges and paraphrases of a sentence closer to it and pushes its
negations away."""

INTENDED = """\
Cosine similarity of sentences where *not* counts: finding paraphrases and contradictory statements,
semantic search and clustering that should not mix a claim with its denial, and research on
negation and hedging in embeddings."""

RETENTION = """\
To prevent forgetting, training kept the embeddings of some texts close to those of the base model
(`retention` in the recipe). These texts are anchors of the release, and texts that come with
Hedgerow and were written by a language model: news, headlines, definitions, everyday texts, and
documents with questions and queries."""

MEASURED_ON = """\
*Held out* is the validation split of the release: anchors that were not used for training, with all
their variants (a sample of {most} anchors if there are more). A *triple* is an anchor with a
positive (a hedge or paraphrase) and a negative (a negation). A *SemAntoNeg-style question* has
three candidates, one of which is the paraphrase. *Drift* is the root mean square change in the
cosines between unrelated sentences, relative to the base model."""

OF_THE_QUESTIONS = (
    "A language model wrote the questions and passages; they were not used for training. The "
    "change is more meaningful than the value itself."
)

OF_THE_PROBES = """\
*Figure 1* is the paper's: the similarity of three sentences to "Global warming is real." In each of
the sixty *groups* that come with Hedgerow, one sentence contradicts an anchor, one weakens it, and
one affirms it."""

LIMITS = (
    "It was trained on single sentences. Negation inside long passages was not evaluated here.",
    "Hedges were trained to stay close to their anchors. Do not use it to measure how certain a "
    "statement is.",
    "A cosine shows how close two sentences are, not whether one entails or contradicts the "
    "other. The model does not replace one for inference or fact checking, and no decision "
    "about people should depend on it alone.",
    "The training data has its own limitations; they are listed in its data set card.",
)


# -- The form of a card's model: a whole encoder, or an adapter -----------------------------------


class Form(NamedTuple):
    """The form of a card's model.

    Attributes:
        title: the words after the base's name.
        library: the Hub's name of the library that loads it.
        relation: the Hub's name of its relation to the base model.
        tags: tags in addition to those of every model.
        use: how to load it; 'BASE' is replaced by the base's name.
        measured: the card's metrics in Markdown; None means those of the training run.
    """

    title: str
    library: str
    relation: str
    tags: tuple[str, ...]
    use: str
    measured: str | None = None


WHOLE = Form(
    "finetuned on negation and hedging",
    library="sentence-transformers",
    relation="finetune",
    tags=(),
    use=USE,
)
ADAPTER = Form(
    "an adapter for negation and hedging",
    library="peft",
    relation="adapter",
    tags=("lora",),
    use=USE_ADAPTER,
)


# -- The metrics of a model card before and after training, and the data of each ------------------


NO_FIGURE = "–"

_HELD_OUT, _FIGURE_1, _GROUPS = "held out", "Figure 1", "sixty groups"

_MEASURED_ON = {STS: "the given STS file", RETRIEVAL: "bundled questions"}
"""The data of metrics that are not measured on the held-out part."""


class _Figure(NamedTuple):
    """A row of the table: the metric, its data and number of items, before and after."""

    name: str
    measured_on: str
    n: int | str
    before: str
    after: str


def figures(session: Session, result: Mapping[str, Any], recipe: Recipe) -> str:
    """A run's metrics in Markdown: a table of all, and a table of the triples by type pair.

    Args:
        result: as in `training.model_card.card_of`.
    """
    held_out = result.get("held_out") or {}
    sizes = held_out.get("of", {})
    before, after = held_out.get("before", {}), held_out.get("after", {})
    rows = [*_of_the_held_out(before, after, sizes), *_of_the_probes(session, result)]
    if not rows:
        return "None were measured."
    parts = [_table(rows)]
    if after:
        parts.append(_one_paragraph(MEASURED_ON.format(most=MOST_FAMILIES)))
    if RETRIEVAL in after:
        parts.append(f"{WHAT_IT_IS} {OF_THE_QUESTIONS}")
    if recipe.early_stopping and after:
        parts.append(
            f"The checkpoint with the best `{recipe.early_stopping}` on this split was kept, so "
            "the figures on the held-out data are slightly optimistic."
        )
    if any(row.measured_on in (_FIGURE_1, _GROUPS) for row in rows):
        parts.append(_one_paragraph(OF_THE_PROBES))
    if pairs := [name for name in after if name.startswith(f"{RANKED}:")]:
        parts.append(
            "### Triples ranked correctly, by type\n\n" + _by_types(pairs, before, after, sizes)
        )
    return "\n\n".join(parts)


def _table(rows: Sequence[_Figure]) -> str:
    return markdown_table(["figure", "measured on", "n", "before", "after"], rows)


def _one_paragraph(text: str) -> str:
    return " ".join(text.split())


def _of_the_held_out(
    before: Mapping[str, float], after: Mapping[str, float], sizes: Mapping[str, int]
) -> list[_Figure]:
    rows = []
    for key, (name, shown) in _NAMES.items():
        if key in after:
            place = _MEASURED_ON.get(key, _HELD_OUT)
            old, new = (_shown(figures, key, shown) for figures in (before, after))
            rows.append(_Figure(name, place, sizes.get(key, NO_FIGURE), old, new))
    return rows


def _shown(figures: Mapping[str, float], key: str, shown: Callable[[float], str]) -> str:
    if key not in figures:
        return NO_FIGURE
    spread = figures.get(key + SPREAD)
    return shown(figures[key]) + (f" (sd {spread:.3f})" if spread is not None else "")


def _cosine(value: float) -> str:
    return f"{value:.3f}"


_NAMES = {
    RANKED: ("triples ranked correctly", percent),
    FAMILIES: ("anchors with every positive closer than every negative", percent),
    QUESTIONS: ("SemAntoNeg-style questions answered correctly", percent),
    **{
        name: (f"mean cosine of anchor and {role.name.lower()}", _cosine)
        for role, name in COSINE.items()
    },
    DRIFT: ("drift", _cosine),
    STS: ("Spearman correlation with human scores", _cosine),
    RETRIEVAL: ("retrieval (mean reciprocal rank)", _cosine),
}
"""The label and the number format of each metric."""


def _by_types(
    names: Sequence[str],
    before: Mapping[str, float],
    after: Mapping[str, float],
    sizes: Mapping[str, int],
) -> str:
    rows = []
    for name in names:
        positive, _, negative = name.removeprefix(f"{RANKED}:").partition(">")
        shares = (_shown(figures, name, percent) for figures in (before, after))
        rows.append([positive, negative, sizes.get(name, NO_FIGURE), *shares])
    return markdown_table(["positive", "negative", "n", "before", "after"], rows)


def _of_the_probes(session: Session, result: Mapping[str, Any]) -> list[_Figure]:
    """Figure 1 and the sixty groups, if both encoders have been measured on them."""
    rows = []
    if cosines := _cosines(session, FIGURE_1_SET, result):
        for stored, old, new in zip(stored_probes(session, FIGURE_1_SET), *cosines, strict=True):
            name = f"cosine of the {stored.probe.label} sentence"
            rows.append(_Figure(name, _FIGURE_1, 1, _cosine(old), _cosine(new)))
    if cosines := _cosines(session, GROUPS_SET, result):
        groups = find_groups([stored.probe for stored in stored_probes(session, GROUPS_SET)])
        rows += _of_the_groups(*(score(groups, found) for found in cosines))
    return rows


def _cosines(
    session: Session, set_name: str, result: Mapping[str, Any]
) -> tuple[list[float], list[float]] | None:
    """The cosines of a set's pairs before and after; None if one is missing."""
    ids = [stored.id for stored in stored_probes(session, set_name)]
    old, new = (
        probe_cosines(session, int(result.get(key, 0)), ids)
        for key in ("before_encoder_id", "encoder_id")
    )
    if not ids or len(old) < len(ids) or len(new) < len(ids):
        return None
    return [old[key] for key in ids], [new[key] for key in ids]


def _of_the_groups(before: GroupScores, after: GroupScores) -> list[_Figure]:
    shares = {
        "groups with the contradicted sentence farthest": "ranked",
        "groups with the affirmed sentence closer than the weakened one": "affirmed_first",
    }
    rows = [
        _Figure(name, _GROUPS, after.groups, *(percent(getattr(s, key)) for s in (before, after)))
        for name, key in shares.items()
    ]
    return rows + [
        _Figure(
            f"mean cosine of the {role} sentence",
            _GROUPS,
            after.groups,
            *(_cosine(scores.means[role]) for scores in (before, after)),
        )
        for role in ROLES
    ]
