"""Starting a training: the one click, what can be changed about it, and the user's own probes."""

import streamlit as st

from curation.release import list_releases
from curation.review import MAX_TEXT
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run
from db.runs import UNFINISHED, list_runs
from pages.components import background, errors, project, run_view, signin
from training.finetune import LARGEST_SEED
from training.plan import KIND, Plan, count_accepted, estimate, plan
from training.probe_sets import StoredProbe
from training.probes import add_own_probe, own_probes, remove_own_probe
from training.recipe import Recipe
from training.recipe_text import LARGEST, parse_recipe
from training.runs import DEFAULT_SEED, request_training

# What was edited outlives the widgets, which forget it as soon as they are not drawn.
_RECIPE, _SEED, _RELEASE = "train_recipe", "train_seed", "train_release"
_SEED_BOX = "train-seed-box"
_PROBLEM, _PROBE_PROBLEM = "train_problem", "train_probe_problem"
_ANCHOR, _TEXT = "train-probe-anchor", "train-probe-text"


@st.cache_data(show_spinner=False)
def _released(number: int) -> Plan:
    """Of a release, which never changes; counting a large one takes a second."""
    with reading(project.engine()) as session:
        return plan(session, number)


def _plan(numbers: list[int]) -> Plan:
    chosen = st.session_state.get(_RELEASE)
    if numbers:
        return _released(chosen if chosen in numbers else numbers[0])
    with reading(project.engine()) as session:
        return plan(session)


def box() -> None:
    """The button, what it will do in one sentence, and what can be changed."""
    with reading(project.engine()) as session:
        numbers = [release.number for release in list_releases(session)]
    wanted = _plan(numbers)
    if not wanted.triples and not numbers:
        _nothing_to_train_on(wanted)
        return
    default = wanted.recipe().to_yaml()
    text = st.session_state.get(_RECIPE) or default
    with st.container(border=True, key="train-start"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Finetune", key="train-click", type="primary", icon=":material/model_training:",
                on_click=_start, args=(wanted.release, default, _release_key(numbers)),
            )  # fmt: skip
            st.text(_promise(wanted, text), width="stretch")
        _newer(wanted, numbers)
        if problem := st.session_state.pop(_PROBLEM, ""):
            errors.show(problem)
        with st.expander("Advanced: release, recipe, seed", icon=":material/tune:"):
            _advanced(numbers, wanted, default)


def _nothing_to_train_on(wanted: Plan) -> None:
    with st.container(border=True, key="train-empty"):
        if not wanted.variants:
            st.text("Nothing is accepted yet, so there is nothing to train on.")
        else:
            st.text(
                f"{wanted.variants:,} variants are accepted, but no anchor of the training part "
                "has both sides yet."
            )
        st.text(
            "A training needs anchors of which you accepted both a negation and a hedge (or a "
            "paraphrase)."
        )
        st.page_link("pages/review.py", label="Review variants")


def _promise(wanted: Plan, text: str) -> str:
    """What the click will do, and about how long it takes."""
    try:
        recipe = parse_recipe(text)
    except HedgerowError as error:
        return f"The recipe below can't be used yet. {error}"
    with reading(project.engine()) as session:
        guess = estimate(session, wanted, recipe)
    rows = wanted.rows(recipe)
    if wanted.release is None:
        source = f"a first release, made from the {wanted.variants:,} accepted variants"
    else:
        source = f"release {wanted.release}"
    judged = f"going by run {guess.by_run}" if guess.by_run else "on two free cores"
    return (
        f"Trains {recipe.base_encoder} on {source}: {recipe.steps(rows):,} steps with "
        f"{recipe.batch_size} of its {rows:,} {recipe.rows} each. Takes "
        f"{run_view.duration(guess.seconds)}, {judged}; you can close the browser meanwhile."
    )


def _newer(wanted: Plan, numbers: list[int]) -> None:
    """Say where the newest release no longer holds what is accepted."""
    if not numbers or wanted.release != numbers[0]:
        return
    with reading(project.engine()) as session:
        accepted = count_accepted(session)
    if accepted != wanted.variants:
        st.page_link(
            "pages/release.py",
            label=f"{accepted:,} variants are accepted now, {wanted.variants:,} are in release "
            f"{wanted.release}: a new release brings them into the training.",
        )


def _advanced(numbers: list[int], wanted: Plan, default: str) -> None:
    left, right = st.columns([1, 2])
    with left:
        if numbers:
            st.session_state[_RELEASE] = st.selectbox(
                "Release", numbers, index=numbers.index(wanted.release or numbers[0]),
                key=_release_key(numbers),
            )  # fmt: skip
            if wanted.release != st.session_state[_RELEASE]:
                st.rerun()
        st.session_state[_SEED] = st.number_input(
            "Seed", 0, LARGEST_SEED, st.session_state.get(_SEED, DEFAULT_SEED),
            key=_SEED_BOX, help="Decides the order of the triples and the dropout: the same "
            "release, recipe and seed give the same model.",
        )  # fmt: skip
        st.file_uploader(
            "Use a recipe file",
            type=["yaml", "yml"],
            key="train-upload",
            on_change=_upload,
            max_upload_size=1,
        )
    with right:
        _recipe(default)


def _recipe(default: str) -> None:
    kept = st.session_state.get(_RECIPE) or default
    text = st.text_area(
        "Recipe (YAML)", kept, height=340, max_chars=LARGEST,
        key=_recipe_key(default),
    )  # fmt: skip
    edited = "" if text == default else text
    if edited != st.session_state.get(_RECIPE, ""):
        st.session_state[_RECIPE] = edited
        st.rerun()
    with st.container(horizontal=True):
        st.download_button("Download", text, "recipe.yaml", "text/yaml", on_click="ignore")
        st.button("Back to the defaults", on_click=use_recipe, args=("",), disabled=not edited)


def _recipe_key(default: str) -> str:
    """The text box's key; a new one where the text came from elsewhere: a box keeps its own."""
    return f"train-yaml-{st.session_state.get('train_yaml', 0)}-{hash(default)}"


def _release_key(numbers: list[int]) -> str:
    return f"train-release-{len(numbers)}"


def use_recipe(text: str) -> None:
    """Put a recipe into the text box; an empty one means the default."""
    st.session_state[_RECIPE] = text
    st.session_state["train_yaml"] = st.session_state.get("train_yaml", 0) + 1


def _upload() -> None:
    file = st.session_state.get("train-upload")
    if file is None:
        return
    try:
        if file.size > LARGEST:
            raise HedgerowError(f"{file.name} is too large for a recipe.")
        use_recipe(file.getvalue().decode("utf-8-sig"))
    except UnicodeDecodeError:
        st.session_state[_PROBLEM] = f"Expected UTF-8 text in {file.name}; save it as UTF-8."
    except HedgerowError as error:
        st.session_state[_PROBLEM] = str(error)


def _start(release: int | None, default: str, release_key: str) -> None:
    """Store the run and start its process; a problem is told beside the button, nothing is lost.

    What was typed last is read from its boxes: the page may not have been drawn since.
    """
    state = st.session_state
    text = state.get(_recipe_key(default)) or state.get(_RECIPE) or default
    try:
        recipe: Recipe = parse_recipe(text)
        with writing(project.engine()) as session:
            for run in list_runs(session, kind=KIND):
                if run.state in UNFINISHED:
                    raise HedgerowError(f"Run {run.id} is training already; wait for its end.")
            run = request_training(
                session, release_number=state.get(release_key, release), recipe=recipe,
                seed=int(state.get(_SEED_BOX, state.get(_SEED, DEFAULT_SEED))),
                requested_by=signin.reviewer_id(),
            )  # fmt: skip
        background.start_process_of(run)
    except HedgerowError as error:
        st.session_state[_PROBLEM] = str(error)


def start_again(run: Run) -> None:
    """Start a training that stopped before its end anew."""
    try:
        background.start_again(run)
    except HedgerowError as error:
        st.session_state[_PROBLEM] = str(error)


def probes() -> None:
    """The user's own sentence pairs: add, list, remove; each stored at once."""
    with reading(project.engine()) as session:
        stored = own_probes(session)
    count = f" ({len(stored)})" if stored else ""
    problem = st.session_state.pop(_PROBE_PROBLEM, "")
    with st.expander(
        f"Your own sentence pairs{count}", icon=":material/compare_arrows:",
        expanded=bool(problem), key="train-probes",
    ):  # fmt: skip
        st.caption("Every training measures their similarity before and after, beside Figure 1.")
        for pair in stored:
            _probe(pair)
        with st.form("train-probe", border=False):
            first, second, add = st.columns([5, 5, 1], vertical_alignment="bottom")
            first.text_input("First sentence", key=_ANCHOR, max_chars=MAX_TEXT)
            second.text_input("Second sentence", key=_TEXT, max_chars=MAX_TEXT)
            add.form_submit_button("Add", on_click=_add_probe, width="stretch")
        if problem:
            errors.show(problem)


def _probe(pair: StoredProbe) -> None:
    first, second, remove = st.columns([5, 5, 1], vertical_alignment="center")
    first.text(pair.probe.anchor)
    second.text(pair.probe.text)
    remove.button(
        "Remove", key=f"train-probe-{pair.id}", on_click=_remove_probe, args=(pair.id,),
        width="stretch", type="tertiary",
    )  # fmt: skip


def _add_probe() -> None:
    try:
        with writing(project.engine()) as session:
            add_own_probe(
                session, anchor=st.session_state[_ANCHOR], text=st.session_state[_TEXT],
                author_id=signin.reviewer_id(),
            )  # fmt: skip
    except HedgerowError as error:
        st.session_state[_PROBE_PROBLEM] = str(error)
    else:
        st.session_state[_ANCHOR] = st.session_state[_TEXT] = ""


def _remove_probe(probe_id: int) -> None:
    with writing(project.engine()) as session:
        remove_own_probe(session, probe_id)
