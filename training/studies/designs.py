"""The designs of studies: the training runs that each compares, and notes for reading it."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

from curation.decisions.variant_rows import PERSON, RULES
from curation.editing.own_types import CONTRADICTION, ENTAILMENT
from training.data.families import Composition
from training.finetune.feasibility import SPARE
from training.recipe.schema import Recipe
from training.recipe.training_data import TrainingPlan


class Study(StrEnum):
    """The thing that a study varies."""

    DATA = "data"
    """The portion of the data: the paper's Table 2 and Figure 3."""
    TRIPLES = "triples"
    """The number of triples: the paper's Figure 2."""
    TYPES = "types"
    """One variant type left out at a time."""
    WRITERS = "writers"
    """The writers of the variants: rules, or language models."""
    SOURCES = "sources"
    """The source of the triples, in equal numbers: the paper's Figure 4."""


QUESTIONS: Mapping[Study, str] = MappingProxyType(
    {
        Study.DATA: "What does each half of the data teach? Compares training on all data, on "
        "negation only and on hedging only, as in the paper's Table 2 and Figure 3.",
        Study.TRIPLES: "How much data is needed, and how much general ability does more data "
        "cost? Compares growing numbers of triples, as in the paper's Figure 2.",
        Study.TYPES: "What does each variant type contribute? Leaves out one type at a time.",
        Study.WRITERS: "Are rule-based variants as good as those written by a language model? "
        "Compares equal numbers of each, and both together.",
        Study.SOURCES: "Are your triples better than other people's, or are there just more of "
        "them? Compares equal numbers from each source, as in the paper's Figure 4.",
    }
)
"""The question of each study, and its method."""


class Arm(NamedTuple):
    """One of the training runs of a study.

    Attributes:
        label: its difference from the others, in a few words.
        recipe: its recipe.
        plan: its data.
        providers: the providers of its variants; empty means all.
    """

    label: str
    recipe: Recipe
    plan: TrainingPlan
    providers: tuple[str, ...] = ()


class Design(NamedTuple):
    """A study of one release.

    Attributes:
        arms: the training runs, the one on all data first.
        notes: sentences about its method and how to read it.
        obstacle: why it is impossible on this release, in one sentence; "" if it is possible.
        caution: how it differs from the paper's on this release; `notes` does not repeat it.
    """

    arms: list[Arm]
    notes: list[str]
    obstacle: str = ""
    caution: str = ""


SHARES = tuple(Fraction(1, 2**power) for power in range(6, 0, -1))
"""Shares of the triples, in addition to all of them."""

SIZES = (10_000, 50_000, 100_000, 150_000, 200_000)
"""Numbers of triples in the paper's Figure 2, used instead of shares if there are enough."""

MOST_ARMS = 4
"""Maximum number of arms besides the one on all triples. The largest are kept, so that a study has
at most five runs."""


EPOCHS_ALIKE = (
    "All runs use the same recipe, seed and number of epochs. As in the paper, less data also "
    "means fewer steps."
)

NOTHING_HELD = (
    "Retention is off in all runs: the paper did not use it, and it would hide what hedges "
    "alone preserve."
)

ONCE_EACH = "Each arm is a single run without the recipe's weight averaging (soup), to save time."


def design(study: Study, data: Composition, base: Recipe) -> Design:
    """The training runs of a study on this data: the base recipe with the change of each arm.

    Arms with too little data are left out, and `notes` says so. Weight averaging (`Recipe.soup`) is
    off, because a study has many runs anyway.
    """
    found = _DESIGNS[study](data, Recipe(**{**base.model_dump(), "soup": 1}))
    if not found.arms:
        return found
    notes = [*found.notes, _what_is_on(found.arms[0].recipe)]
    return found._replace(notes=notes if base.trainings == 1 else [*notes, ONCE_EACH])


def _what_is_on(recipe: Recipe) -> str:
    """A sentence about the settings that all runs share."""
    held = f"retention with weight {recipe.retention:g}" if recipe.retention else "no retention"
    mean = (
        f"interpolation with {recipe.interpolation:g} of the finetuned weights"
        if recipe.interpolation < 1
        else "no interpolation"
    )
    return f"All runs: loss {recipe.loss!r}, {held}, {mean}."


def _arm(
    data: Composition,
    base: Recipe,
    label: str,
    /,
    providers: tuple[str, ...] = (),
    **changes: Any,
) -> Arm:
    recipe = Recipe(**{**base.model_dump(), **changes})
    return Arm(label, recipe, data.left_by(recipe, providers), providers)


def _families(arm: Arm) -> float:
    """The approximate number of families that a run samples from."""
    limit = arm.recipe.max_triples or arm.plan.triples
    return arm.plan.families(arm.recipe) * min(1.0, limit / max(1, arm.plan.triples))


def _needed(arm: Arm) -> int:
    """The number of families that fill a batch, with a reserve if they are sampled."""
    return ceil(arm.recipe.batch_size * (SPARE if arm.recipe.max_triples else 1))


def _fills_a_batch(arm: Arm) -> bool:
    return _families(arm) >= _needed(arm)


def _checked(arms: list[Arm], notes: list[str], *, least: int = 2) -> Design:
    """A design of the runs that have enough data: at least this many, including all data."""
    for arm in arms:
        if not _fills_a_batch(arm):
            notes = [*notes, f"Left out: “{arm.label}”. It {_too_few(arm)}"]
    able = [arm for arm in arms if _fills_a_batch(arm)]
    if not able or able[0] is not arms[0]:
        return Design([], notes, f"“{arms[0].label}” {_too_few(arms[0])}")
    if len(able) < least:
        return Design([], notes, f"There is not enough data to compare. {notes[-1]}")
    return Design(able, notes)


def _too_few(arm: Arm) -> str:
    return (
        f"has only about {_families(arm):,.0f} usable anchors, but a run needs {_needed(arm):,} to "
        "fill a batch. Accept more variants, or lower batch_size."
    )


def _by_data(data: Composition, base: Recipe) -> Design:
    arms = [
        _arm(data, base, "All", data="paper", retention=0.0),
        _arm(data, base, "Only negation", data="negation", retention=0.0),
        _arm(data, base, "Only hedging", data="hedging", retention=0.0),
    ]
    notes = [
        "'All' means the paper's four types of negation and two types of hedge. Other types are "
        "not used.",
        EPOCHS_ALIKE,
    ]
    found = _checked(arms, [*notes, NOTHING_HELD] if base.retention else notes)
    return found._replace(caution=_originals(data))


def _originals(data: Composition) -> str:
    """A note on how the arms differ from the paper's, which used original sentences (§4)."""
    positive, negative = (data.originals[wanted] for wanted in (ENTAILMENT, CONTRADICTION))
    instead = (
        "'only negation' uses the anchor's paraphrases as positives, and 'only hedging' uses "
        "the hedges of other anchors as negatives"
    )
    if not positive and not negative:
        return (
            "No anchor has an original entailment or contradiction, which the paper used. "
            f"Instead, {instead}."
        )
    return (
        f"Of the {data.anchors:,} training anchors, {positive:,} have an original entailment and "
        f"{negative:,} an original contradiction, which the paper used. For the others, {instead}."
    )


def _by_triples(data: Composition, base: Recipe) -> Design:
    whole = data.left_by(base).triples
    most = min(whole, base.max_triples or whole)
    sizes = [size for size in SIZES if size < most]
    if len(sizes) < 2:  # two points are not a curve
        sizes = [round(most * share) for share in SHARES]
    arms = [
        _arm(data, base, f"{size:,} triples", max_triples=size)
        for size in sizes
        if size >= base.batch_size
    ]
    able = [arm for arm in arms if _fills_a_batch(arm)]
    full = _arm(data, base, f"{most:,} triples")
    notes = [
        EPOCHS_ALIKE,
        "Smaller samples are subsets of larger ones. They consist of whole families, so the "
        "numbers are exact to one family.",
    ]
    if not able:
        return Design(
            [],
            notes,
            f"Half of the {most:,} triples do not fill a batch of {base.batch_size} anchors. "
            "Accept more variants, or lower batch_size.",
        )
    return _checked([full, *reversed(able[-MOST_ARMS:])], notes)


def _by_types(data: Composition, base: Recipe) -> Design:
    left = {
        type_id: label for type_id, label in data.labels.items() if base.types.get(type_id, 1.0)
    }
    whole = _arm(data, base, "All types")
    without = [
        _arm(data, base, f"Without {label}", types={**base.types, type_id: 0.0})
        for type_id, label in left.items()
    ]
    # Types that are not in the recipe's portion of the data change nothing.
    arms = [whole, *(arm for arm in without if arm.plan.amounts != whole.plan.amounts)]
    notes = [
        EPOCHS_ALIKE,
        "The validation split keeps all types, so each metric shows what is lost without a "
        "type, both on that type and on the others.",
    ]
    return _checked(arms, notes)


def _by_writers(data: Composition, base: Recipe) -> Design:
    models = tuple(name for name in data.providers if name not in (RULES, PERSON))
    if RULES not in data.providers or not models:
        missing = "rules" if models else "a language model"
        return Design(
            [],
            [],
            "This study needs variants written by rules and by a language model. Release "
            f"{data.release} has none written by {missing}.",
        )
    sides = {"Rules": (RULES,), "Language models": models}
    plans = [_arm(data, base, label, providers=by).plan for label, by in sides.items()]
    limits = [plan.triples for plan in plans] + [base.max_triples or plans[0].triples]
    equal = max(base.batch_size, min(limits))
    arms = [_arm(data, base, "All writers")]
    arms += [
        _arm(data, base, label, providers=by, max_triples=equal) for label, by in sides.items()
    ]
    notes = [
        f"Rules and language models contribute equal numbers of triples, about {equal:,}, so "
        "that only quality differs. Variants by people are only in 'All writers'.",
        EPOCHS_ALIKE,
    ]
    return _checked(arms, notes, least=len(arms))


def _by_sources(data: Composition, base: Recipe) -> Design:
    whole = _arm(data, base, "All sources", data="all", sources={})
    names = sorted(
        whole.plan.amounts, key=lambda name: whole.plan.amounts[name].triples, reverse=True
    )[:MOST_ARMS]
    if len(names) < 2:
        return Design(
            [],
            [],
            f"This study needs triples from two sources. Release {data.release} has "
            f"{len(names)}. Import triples from others on the Anchors page.",
        )
    limits = [whole.plan.amounts[name].triples for name in names]
    equal = max(base.batch_size, min(limits, default=0))
    arms = [
        _arm(
            data,
            base,
            name,
            data="all",
            sources={other: float(other == name) for other in whole.plan.amounts},
            max_triples=equal,
        )
        for name in names
    ]
    notes = [
        f"Every source contributes an equal number of triples, about {equal:,}, so that only "
        "quality differs.",
        EPOCHS_ALIKE,
    ]
    return _checked([whole, *arms], notes, least=3)


_DESIGNS: Mapping[Study, Callable[[Composition, Recipe], Design]] = MappingProxyType(
    {
        Study.DATA: _by_data,
        Study.TRIPLES: _by_triples,
        Study.TYPES: _by_types,
        Study.WRITERS: _by_writers,
        Study.SOURCES: _by_sources,
    }
)
