"""Presets: named recipes; the default is the one that fits the release."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from db.errors import HedgerowError
from training.recipe.schema import Recipe
from training.recipe.training_data import TrainingPlan


class Preset(NamedTuple):
    """A named recipe.

    Attributes:
        id: its name in commands and runs.
        label: its name in the interface.
        purpose: one sentence about when to choose it.
        recipe: its recipe.
    """

    id: str
    label: str
    purpose: str
    recipe: Recipe


QUICK, STANDARD, THOROUGH, PAPER = "quick", "standard", "thorough", "paper"

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        preset.id: preset
        for preset in (
            Preset(
                QUICK,
                "Quick",
                "Use it for a first result, and for releases about the size of the starter "
                "corpus. It trains for at most 260 steps.",
                Recipe(max_steps=260, interpolation=0.65),
            ),
            Preset(
                STANDARD,
                "Standard",
                "Use it for releases that also contain the larger corpora, or a similar number of "
                "your own families.",
                Recipe(),
            ),
            Preset(
                THOROUGH,
                "Thorough",
                "Use it for a model that you publish. It averages the weights of three standard "
                "runs, which is a little better on negation and takes three times as long.",
                Recipe(soup=3),
            ),
            Preset(
                PAPER,
                "Paper",
                "Use it to reproduce HedgeTriple, and set base_encoder to "
                "sentence-transformers/all-mpnet-base-v2, as in the paper. It trains on flat "
                "triples of four types of negation and two types of hedge, without retention and "
                "interpolation.",
                Recipe(
                    pooling="cls",  # §3.2
                    data="paper",
                    sources={},
                    loss="triples",
                    scale=20.0,
                    epochs=1.0,
                    batch_size=64,
                    learning_rate=2e-5,
                    max_seq_length=128,
                    dropout=None,
                    retention=0.0,
                    interpolation=1.0,
                    lora_rank=None,
                ),
            ),
        )
    }
)
"""Every preset by its id. The values of *standard* are the defaults of `Recipe`; the others list
their differences.

HedgeTriple doesn't print the scale, batch size, learning rate or number of epochs of its encoder.
*paper* uses those of sentence-transformers' own training script for triples with the same loss
(``training_nli_v2.py``), which is also where the scale's default of 20 is from. Figure 2 counts
triples that are seen, so they are seen once. 128 tokens and 2e-5 are what its base encoder,
all-mpnet-base-v2, was trained with.
"""

STANDARD_FAMILIES = 3_000
"""Minimum number of families in a train split for *standard*: three times the starter corpus."""


def fitting(plan: TrainingPlan) -> Preset:
    """The preset that fits a release, by the number of families in its train split."""
    return PRESETS[STANDARD if plan.anchors >= STANDARD_FAMILIES else QUICK]


def named(name: str) -> Preset:
    """The preset with this id.

    Raises:
        HedgerowError: there is none.
    """
    if name not in PRESETS:
        raise HedgerowError(f"Expected a preset ({', '.join(PRESETS)}), found {name[:80]!r}.")
    return PRESETS[name]


def recipe_for(preset: Preset, plan: TrainingPlan) -> Recipe:
    """A preset's recipe, with smaller batches if an epoch of this release has too few families."""
    recipe = preset.recipe
    size = max(2, min(recipe.batch_size, plan.families(recipe)))
    return Recipe(**{**recipe.model_dump(), "batch_size": size})


def preset_of(recipe: Recipe, plan: TrainingPlan) -> Preset | None:
    """The preset that this recipe equals for this release; None for a user's own recipe."""
    found = (preset for preset in PRESETS.values() if recipe_for(preset, plan) == recipe)
    return next(found, None)


def changes(values: Mapping[str, Any], preset: Preset) -> dict[str, Any]:
    """The keys of a recipe, of any version, that differ from a preset or are missing in it."""
    its = preset.recipe.model_dump(mode="json")
    return {key: value for key, value in values.items() if its.get(key) != value}


def nearest(recipes: Sequence[Mapping[str, Any]]) -> Preset:
    """The preset that differs from these recipes in the fewest keys.

    If several presets are equally similar, *standard* comes first, because its values are the
    defaults.
    """

    def distance(preset: Preset) -> tuple[int, bool]:
        return sum(len(changes(values, preset)) for values in recipes), preset.id != STANDARD

    return min(PRESETS.values(), key=distance)


def reason(plan: TrainingPlan) -> str:
    """The reason why a preset fits: 'release 3 has 1,016 families'."""
    whose = "the first release has" if plan.release is None else f"release {plan.release} has"
    return f"{whose} {plan.anchors:,} {'family' if plan.anchors == 1 else 'families'}"
