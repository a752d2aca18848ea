"""Starting a training run: the button, what it will do, and the advanced settings."""

from collections.abc import Sequence

import streamlit as st

from curation.anchors.revisions import sources_in_use
from curation.formatting import counted
from curation.release.contents import count_accepted
from curation.release.freezing import get_release, release_numbers
from curation.release.overlap_results import OverlapWithTest, description
from db.errors import HedgerowError
from pages.components.shared import links, overlap_found, page_runs
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project
from pages.components.train import recipe_editor, recipe_parts
from training.benchmarks.contamination import bundled_texts_description
from training.data.families import Composition, composition, composition_now
from training.encoder_run.requesting import TRAIN, Train, plan
from training.encoder_run.training_run import DEFAULT_SEED
from training.finetune.finetuning import LARGEST_SEED
from training.recipe.schema import cautions, parse_recipe
from training.recipe.training_data import TrainingPlan
from training.recipe.training_data import plan as data_of

# Edits outlive the widgets, which forget their values when they are not drawn.
_SEED, _RELEASE, _PROBLEM = "train_seed", "train_release", "train_problem"
_SEED_BOX = "train-seed-box"


def _plan(numbers: list[int]) -> TrainingPlan:
    chosen = st.session_state.get(_RELEASE)
    if numbers:
        return plan_of(chosen if chosen in numbers else numbers[0])
    return open_project.ask(data_of)


def _composition(wanted: TrainingPlan) -> Composition:
    """The composition of the train split."""
    if wanted.release is None:
        return open_project.ask(composition_now)
    return composition_of(wanted.release)


@current_user.for_leads("start training runs")
def box(*, busy: bool) -> None:
    """The button, one sentence about what it will do, and the advanced settings.

    Args:
        busy: whether another training is in progress; the next one waits for it.
    """
    numbers = open_project.ask(release_numbers)
    wanted = _plan(numbers)
    if not wanted.triples and not numbers:
        _nothing_to_train_on(wanted)
        return
    default = recipe_parts.default_text(wanted)
    text = recipe_editor.text(default)
    with st.container(border=True, key="train-start"):
        planned, able = _plan_text(wanted, text, busy=busy)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Finetune",
                key="train-click",
                type="primary",
                icon=":material/model_training:",
                disabled=not able,
                on_click=_start,
                args=(wanted, _release_key(numbers)),
            )
            st.text(planned, width="stretch")
        recipe_parts.choose_preset(wanted, text)
        _newer(wanted, numbers)
        overlap_lines(wanted.release, held=_holds(text))
        error_messages.show_kept(_PROBLEM)
        with st.expander(
            "Advanced: release, seed, recipe", icon=":material/tune:", key="train-advanced"
        ):
            _advanced(numbers, wanted)
            recipe_editor.draw(default, wanted.amounts, recipe_parts.recipe_files)


def _holds(text: str) -> bool:
    """Whether a recipe uses retention; True for one that can't be read."""
    try:
        return bool(parse_recipe(text).retention)
    except HedgerowError:
        return True


def _nothing_to_train_on(wanted: TrainingPlan) -> None:
    if count_cache.CachedCounts().empty:
        links.no_variants()
        return
    with st.container(border=True, key="train-empty"):
        if not wanted.variants:
            st.text("No variant has been accepted yet, so there is nothing to train on.")
        else:
            st.text(
                f"{wanted.variants:,} variants are accepted, but no anchor in the train split "
                "has both a positive and a negative yet."
            )
        st.text(
            "Training needs anchors with an accepted negation and an accepted hedge or paraphrase."
        )
        st.page_link("pages/review.py", label="Review variants", icon=":material/rate_review:")


def _plan_text(data: TrainingPlan, text: str, *, busy: bool) -> tuple[str, bool]:
    """What the button will do and how long that takes, or why it can't; and whether it can."""
    try:
        request = Train(release=data.release, recipe=parse_recipe(text))
        planned = plan(
            current_user.project(), request, data=data, composed=lambda: _composition(data)
        )
    except HedgerowError as error:
        return f"The recipe under Advanced is not valid yet. {error}", False
    wait = ["This run starts when the current one has ended."] * busy
    sentences = [*planned.sentences(), "You can close the browser.", *wait]
    return " ".join([*sentences, *cautions(planned.recipe)]), True


def _newer(wanted: TrainingPlan, numbers: list[int]) -> None:
    """Link to the Release page: to choose sources, or when the newest release is out of date."""
    if not numbers and (len(open_project.ask(sources_in_use)) > 1):
        _create_a_release("To train on some sources only, create a release of them first.")
    if not numbers or wanted.release != numbers[0]:
        return
    accepted = open_project.ask(count_accepted, wanted.selection)
    if accepted != wanted.variants:
        whose = " with these sources" if wanted.selection.sources else ""
        _create_a_release(
            f"Release {wanted.release} has {counted(wanted.variants, 'variant')}. A new release"
            f"{whose} would have {accepted:,}."
        )


def _create_a_release(reason: str) -> None:
    """A link to the Release page, after the reason to follow it."""
    with st.container(horizontal=True, vertical_alignment="center", key="train-new-release"):
        st.text(reason, width="content")
        st.page_link("pages/release.py", label="Create a release", icon=":material/inventory_2:")


def _advanced(numbers: list[int], wanted: TrainingPlan) -> None:
    with st.container(horizontal=True, key="train-fields-run"):
        if numbers:
            st.session_state[_RELEASE] = st.selectbox(
                "Release",
                numbers,
                index=numbers.index(wanted.release or numbers[0]),
                key=_release_key(numbers),
            )
            if wanted.release != st.session_state[_RELEASE]:
                st.rerun()
        st.session_state[_SEED] = st.number_input(
            "Seed",
            0,
            LARGEST_SEED,
            st.session_state.get(_SEED, DEFAULT_SEED),
            key=_SEED_BOX,
            help="Determines the sample and order of the data and the dropout. The same release, "
            "recipe and seed give the same model.",
        )


def _release_key(numbers: list[int]) -> str:
    return f"train-release-{len(numbers)}"


def _start(wanted: TrainingPlan, release_key: str) -> None:
    """Store the run and start its process; a problem is shown next to the button.

    Reads the current values of the boxes, since the page may not have been redrawn since the last
    change.
    """
    state = st.session_state
    recipe_editor.take_up()
    with error_messages.kept_for(_PROBLEM):
        recipe = parse_recipe(recipe_editor.text(recipe_parts.default_text(wanted)))
        chosen = state.get(release_key, wanted.release)
        seed = int(state.get(_SEED_BOX, state.get(_SEED, DEFAULT_SEED)))
        request = Train(release=chosen, recipe=recipe, seed=seed)
        page_runs.start_process_of(TRAIN.perform(current_user.project(), request).run)


# -- overlap lines --------------------------------------------------------------------------------


MOST_LINES = 4


def overlap_lines(number: int | None, *, held: bool) -> None:
    """The lines for a release; nothing without a release or a benchmark file.

    Args:
        held: whether the recipe uses retention with the bundled texts.
    """
    if number is None:
        return
    release = open_project.ask(get_release, number)
    found = overlap_found.compared(release)
    bundled = overlap_found.bundled_texts_compared() if held else []
    if found is None or bundled is None:
        count_cache.follow_making("Comparing the release with the benchmarks' texts …")
        return
    with st.container(key="train-overlap", gap="xxsmall"):
        for line in overlap_sentences(found):
            st.text(line)
        if sentence := bundled_texts_description([entry.facts for entry in bundled]):
            st.text(sentence)
    if any(entry.overlap.examples for entry in found):
        with st.expander("Overlap between the release and the benchmarks", icon=":material/join:"):
            overlap_found.examples(found)


def overlap_sentences(found: Sequence[OverlapWithTest]) -> list[str]:
    """One sentence for each, the largest overlap first; one more for the rest."""
    shared = [entry for entry in found if entry.problem or entry.shares]
    shared.sort(key=lambda entry: -entry.overlap.share)
    sentences = [description(entry.facts) for entry in shared]
    if len(sentences) > MOST_LINES:
        rest = len(sentences) - MOST_LINES
        sentences = [*sentences[:MOST_LINES], f"{rest} more overlap. See Benchmarks · Overlap."]
    clean = [entry for entry in found if entry not in shared]
    if len(clean) == 1:
        sentences.append(description(clean[0].facts))
    elif clean:
        names = ", ".join(dict.fromkeys(entry.title for entry in clean))
        n = clean[0].overlap.n
        sentences.append(
            f"{len(clean)} benchmark files ({names}) have no item that shares {n} consecutive "
            "words with the release."
        )
    return sentences


# -- What a release contains for training, cached: a release never changes ------------------------


@st.cache_data(show_spinner=False)
def plan_of(number: int) -> TrainingPlan:
    """The data for training on this release; counting a large one takes a second."""
    return open_project.ask(data_of, number)


@st.cache_data(show_spinner="Reading the release …", max_entries=5)
def composition_of(number: int) -> Composition:
    """The composition of this release's train split."""
    return open_project.ask(composition, number)
