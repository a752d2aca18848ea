"""The model card: a README about a trained encoder, its training, and its results.

It contains no path of this machine and no text of the data. Names and recipes may be hostile: they
reach YAML through a dumper, and Markdown through ``escape`` or a fence that they cannot close.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from sqlalchemy.orm import Session

from curation.encoders.model_folders import DEFAULT_ENCODER, HUB_ORGANISATION, resolve_encoder
from curation.formatting import escape, markdown_table, one_line
from curation.release.export.card_sections import (
    CITATION,
    WRITERS,
    overlap_section,
    review_statement,
    writers_of,
    writers_table,
)
from curation.release.freezing import get_release
from db.errors import HedgerowError
from db.models import Release, Run
from training.benchmarks.contamination import bundled_texts_description
from training.evaluation.general_ability import RETRIEVAL
from training.evaluation.held_out import DRIFT, STS
from training.model_card_parts import (
    INTENDED,
    LIMITS,
    NO_FIGURE,
    PLACE,
    RETENTION,
    SUMMARY,
    WHOLE,
    Form,
    figures,
)
from training.recipe.schema import Recipe, recipe_of

CARD = "README.md"

HUB_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*", re.ASCII)

LICENCES = {
    "sentence-transformers/all-MiniLM-L6-v2": "apache-2.0",
    "sentence-transformers/all-MiniLM-L12-v2": "apache-2.0",
    "sentence-transformers/all-mpnet-base-v2": "apache-2.0",
    "sentence-transformers/all-distilroberta-v1": "apache-2.0",
}
"""The licences of base models on the Hub. For other models, the card says where to look."""

LOCAL_MODEL, LOCAL_FILE = "a local model", "a local file"
"""Replaces a path in the card."""

VERSIONS = ("hedgerow", "sentence-transformers", "transformers", "torch", "python")


def write_card(folder: Path, card: str) -> None:
    """Write the card to a model's folder, completely or not at all.

    Raises:
        HedgerowError: it cannot be written.
    """
    draft = folder / f".{CARD}.part"
    try:
        draft.write_text(card, encoding="utf-8", newline="\n")
        draft.replace(folder / CARD)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise HedgerowError(
            f"The model card in {str(folder)!r} cannot be written ({error.strerror or error}). "
            "Free some disk space or check the folder's permissions."
        ) from error


def card_of(
    session: Session, run: Run, result: Mapping[str, Any], *, note: str = "", form: Form = WHOLE
) -> str:
    """The card of a training run's model, with the metrics that exist so far.

    Args:
        result: the run's result so far: ``triples`` and ``steps``; ``held_out`` and the encoders'
            rows after the evaluation; ``overlap`` with benchmarks, and ``bundled_overlap`` of the
            bundled retention texts.
        note: sentences in Markdown about changes of the trained weights.
        form: the form of the model.

    Raises:
        HedgerowError: the release is gone, or the recipe is of another version.
    """
    release = get_release(session, int(run.parameters["release"]))
    recipe = recipe_of(run)
    base = public_base(recipe.base_encoder)
    training = [
        note,
        _shares(_weighted_sources(release, recipe)),
        RETENTION if recipe.retention else "",
        _training(run, release, recipe, result),
    ]
    bundled = result.get("bundled_overlap") or () if recipe.retention else ()
    overlap = [overlap_section(result.get("overlap") or ())]
    overlap.append(escape(bundled_texts_description(bundled)))
    return encoder_card(
        base,
        form,
        languages=release.summary["languages"],
        measured=figures(session, result, recipe) if form.measured is None else form.measured,
        training=paragraphs(training),
        sections={
            "Data": data_section(session, release),
            "Overlap with benchmarks": paragraphs(overlap),
        },
        limits=[_language_limit(release), _forgetting(result)],
    )


def encoder_card(
    base: str,
    form: Form,
    *,
    measured: str,
    training: str,
    languages: Iterable[str] = (),
    sections: Mapping[str, str] = MappingProxyType({}),
    limits: Sequence[str] = (),
) -> str:
    """The card of an encoder.

    Args:
        base: as in `public_base`.
        measured, training: the contents of these sections.
        languages: the tags of its training languages.
        sections: further sections after these.
        limits: sentences in addition to those of every encoder.
    """
    tags = sorted(tag for tag in languages if re.fullmatch("[a-z]{2,3}", tag))
    return card(
        f"{escape(base or 'Encoder')}, {form.title}",
        SUMMARY,
        {
            "How to use": form.use.replace("BASE", base or LOCAL_MODEL),
            "Figures before and after": measured,
            "Training": training,
            **sections,
            "Intended use": INTENDED,
            "Limits": bullets([*limits, *LIMITS]),
            "Citation": CITATION,
        },
        base=base,
        relation=form.relation,
        library_name=form.library,
        pipeline_tag="sentence-similarity",
        tags=["sentence-transformers", "feature-extraction", "negation", "hedging", *form.tags],
        language=tags or None,
        license=LICENCES.get(base),
    )


def card(
    title: str,
    summary: str,
    sections: Mapping[str, str],
    *,
    base: str,
    relation: str,
    **header: Any,
) -> str:
    """A model card in Markdown.

    Args:
        sections: their texts by title.
        base: the name of the base model on the Hub, or ''.
        relation: the Hub's name of the relation to it.
        header: further values that the Hub reads, as in ``ModelCardData``.
    """
    # Loading the hub's client takes half a second, and only the end of a training needs it.
    from huggingface_hub import ModelCardData  # noqa: PLC0415

    if base:
        header |= {"base_model": base, "base_model_relation": relation}
    data = ModelCardData(**header)
    titled = (f"## {name}\n\n{text}" for name, text in sections.items())
    return f"---\n{data.to_yaml()}\n---\n\n{paragraphs([f'# {title}', summary, *titled])}\n"


def paragraphs(texts: Iterable[str]) -> str:
    """The texts, without empty ones, as paragraphs."""
    return "\n\n".join(filter(None, texts))


def bullets(lines: Iterable[str]) -> str:
    """A list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)


def facts_table(facts: Mapping[str, Any]) -> str:
    """A table of names and values in Markdown."""
    return markdown_table(["", ""], list(facts.items()))


def versions_of(run: Run, names: Sequence[str]) -> str:
    """The versions of these packages at the time of a run, on one line."""
    return ", ".join(f"{name} {run.versions[name]}" for name in names if name in run.versions)


def release_name(release: Release) -> str:
    """The number of a release, and its name if it has one."""
    return f"{release.number} ({one_line(release.name)})" if release.name else str(release.number)


def published(card: str, name: str) -> str:
    """The card of a model that is published under this name."""
    return card.replace(PLACE, name)


def public_base(name: str) -> str:
    """The name on the Hub of a recipe's base encoder; '' for a folder, which others don't have."""
    if name == DEFAULT_ENCODER:
        return f"{HUB_ORGANISATION}/{DEFAULT_ENCODER}"
    try:
        found = resolve_encoder(name)
    except HedgerowError:  # it was a folder that no longer exists
        return ""
    return found if isinstance(found, str) and HUB_NAME.fullmatch(found) else ""


def _training(run: Run, release: Release, recipe: Recipe, result: Mapping[str, Any]) -> str:
    base = public_base(recipe.base_encoder)
    whose = "see the base model's page on the Hub" if base else "that of the local model"
    facts = {
        "base": base or LOCAL_MODEL,
        "licence of the base": LICENCES.get(base) or whose,
        "release": release_name(release),
        "content hash of the release (SHA-256)": release.content_hash,
        **({"preset": preset} if (preset := run.parameters.get("preset")) else {}),
        **({"variants by": ", ".join(by)} if (by := run.parameters.get("providers")) else {}),
        "triples": result["triples"],
        "families (anchors with their variants)": result.get("anchors", NO_FIGURE),
        "steps": result["steps"],
        "kept after step": result.get("kept_step", result["steps"]),
        "seed": str(run.parameters["seed"]),
        "versions": versions_of(run, VERSIONS),
    }
    text = public_recipe(recipe).strip()
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return (
        f"{facts_table(facts)}\n\nThe recipe, as Hedgerow reads it:\n\n{fence}yaml\n{text}\n{fence}"
    )


def _weighted_sources(release: Release, recipe: Recipe) -> dict[str, float]:
    """The shares of the release's sources that the recipe does not use completely."""
    names = {source["name"] for source in release.summary["sources"]}
    return {name: share for name, share in recipe.sources.items() if name in names}


def _shares(shares: Mapping[str, float]) -> str:
    """A sentence about the share of each source that an epoch uses; '' if it uses all of each."""
    if not shares:
        return ""
    listed = ", ".join(f"{share:.0%} of *{escape(name)}*" for name, share in shares.items())
    return (
        "An epoch uses all families of the release, but only a share of these sources: "
        f"{listed}. The next epoch continues with other families of them (`sources` in the "
        "recipe)."
    )


def public_recipe(recipe: Recipe) -> str:
    """A recipe as YAML without the paths in it."""
    base = public_base(recipe.base_encoder)
    values = recipe.model_dump(mode="json") | {"base_encoder": base or LOCAL_MODEL}
    files = [name for name in values if name.endswith("_file") and values[name]]
    values |= dict.fromkeys(files, LOCAL_FILE)
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=10**6)


def data_section(session: Session, release: Release) -> str:
    """The contents, writers and reviewers of a release."""
    summary = release.summary
    licences: dict[str, int] = {}
    for source in summary["sources"]:
        name = one_line(source["licence"]) or "not recorded"
        licences[name] = licences.get(name, 0) + source["variants"]
    return paragraphs(
        [
            f"Release {release.number} of a Hedgerow project: {summary['variants']:,} accepted "
            f"variants of {summary['anchors']:,} anchors, all splits together. Who wrote the "
            f"variants of each type: {WRITERS}",
            writers_table(release, writers_of(session, release)),
            review_statement(summary),
            "The licences of the anchors' sources:",
            markdown_table(["licence", "variants"], list(licences.items())),
        ]
    )


def _language_limit(release: Release) -> str:
    words = release.summary["words"]["anchors"]
    languages = ", ".join(escape(tag) for tag in sorted(release.summary["languages"]))
    languages_of = (
        "English only" if languages == "en" else f"Only languages trained on ({languages})"
    )
    return (
        f"{languages_of}, and sentences: the training anchors have {words['shortest']:,} to "
        f"{words['longest']:,} words (median {words['median']:g})."
    )


def _forgetting(result: Mapping[str, Any]) -> str:
    held_out = result.get("held_out") or {}
    before, after = held_out.get("before", {}), held_out.get("after", {})
    changes = []
    if DRIFT in after:
        changes.append(f"the cosines between unrelated sentences drifted by {after[DRIFT]:.3f}")
    for name, figure in ((STS, "the STS correlation"), (RETRIEVAL, "retrieval (MRR@10)")):
        if name in after and name in before:
            changes.append(f"{figure} went from {before[name]:.3f} to {after[name]:.3f}")
    listed = " and ".join([", ".join(changes[:-1]), changes[-1]] if changes[1:] else changes)
    found = f"in this run, {listed}" if changes else "it was not measured here"
    return (
        f"Finetuning can cost general ability: {found}. Evaluate the model on your own task "
        "before you replace the base model."
    )
