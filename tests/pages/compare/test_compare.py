"""The Compare page in each of its states, from rows and files, without an encoder."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from curation.encoders.model_folders import BUILT_IN, DEFAULT_ENCODER, TRAINED_ENCODER
from db.engine import writing
from db.models import Encoder, RunState
from db.run_process import run_folder
from db.runs import get_run
from db.settings import load_settings
from pages.components.shared.shell.open_project import ask
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import change, charts, newest, opened, page_text, use
from tests.training.support.trainings import perform
from training.evaluation import similarity_run
from training.evaluation.probe_files import Pasted
from training.evaluation.probe_sets import (
    FIGURE_1_SET,
    GROUPS_SET,
    create_set,
    ensure_bundled,
    list_sets,
    open_set,
)
from training.evaluation.probes import save_probe_cosines
from training.evaluation.similarity import ROLES, ProbePair
from training.evaluation.similarity_run import COMPARE, KIND, Compare, set_cosines
from training.models.known import named_encoder

TRAINED = "run 7: all-MiniLM-L6-v2, release 1"
HOSTILE = '<img src=x onerror="alert(1)"> **bold** $x^2$ :red[text] [link](javascript:alert(1))'
SENTENCES = ["It rains.", "It pours.", HOSTILE]


@pytest.fixture
def models(app_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of the built-in encoder and of a trained one, which have measured nothing."""
    nothing = tmp_path / "no_cosines.json"
    nothing.write_text("{}")
    monkeypatch.setattr(similarity_run, "_BUNDLED", nothing)
    rows = [
        Encoder(name=DEFAULT_ENCODER, fingerprint="a" * 64),
        Encoder(name=TRAINED, fingerprint="b" * 64, path="runs/00007-train/model"),
    ]
    with writing(app_engine) as session:
        session.add_all(rows)
        session.flush()
        return [row.id for row in rows]


def store_cosines(engine: Engine, encoder_id: int, name: str, *, contradicted: float) -> None:
    """Every contradicted pair of a set gets this cosine, and every other pair 0.8."""
    with writing(engine) as session:
        ensure_bundled(session, name)
        cosines = {
            stored.id: contradicted if stored.probe.label == ROLES[0] else 0.8
            for stored in open_set(session, name).probes
        }
        save_probe_cosines(session, cosines, encoder_id=encoder_id)


def test_a_new_project_shows_figure_1_before_and_after_at_once(
    open_page: OpenPage, started: list[int], app_engine: Engine, wording: Wording
) -> None:
    app = open_page("compare")
    wording(app, "compare", "a new project")
    assert [app.selectbox(key).value for key in ("a", "b", "set")] == [
        DEFAULT_ENCODER,
        TRAINED_ENCODER,
        FIGURE_1_SET,
    ]
    (link,) = app.get("page_link")
    assert link.page == "train"
    assert charts(app) == 1 and started == []
    probes = ask(open_set, FIGURE_1_SET).probes
    before, after = (ask(set_cosines, ask(named_encoder, name).row, probes) for name in BUILT_IN)
    assert before is not None and after is not None
    fall, *others = (one - other for one, other in zip(before, after, strict=True))
    assert fall > 0.1 and fall > 2 * max(others), "the contradicted one"


def test_one_click_measures_missing_values_and_groups_are_ranked_by_both_models(
    models: list[int], started: list[int], open_page: OpenPage, app_engine: Engine, wording: Wording
) -> None:
    app = open_page("compare")
    assert app.selectbox("b").value == TRAINED
    app.button("compare-start").click().run()
    run = newest(KIND)
    asked = {"models": [DEFAULT_ENCODER, TRAINED], "set": GROUPS_SET, "sentences": []}
    assert (started, run.parameters) == ([run.id], asked)
    assert not [button for button in app.button if button.key == "compare-start"]
    change(run.id, state=RunState.FAILED, message=HOSTILE)
    app = open_page("compare")
    assert HOSTILE in page_text(app) and "onerror" not in unsafe_texts(app)
    app.button("compare-start").click().run()
    assert len(started) == 2, "it can be retried"
    change(newest(KIND).id, state=RunState.CANCELLED)
    store_cosines(app_engine, models[0], GROUPS_SET, contradicted=0.9)
    app = open_page("compare")
    wording(app, "compare", "groups with one model")
    assert [metric.value for metric in app.metric] == ["0%"]
    store_cosines(app_engine, models[1], GROUPS_SET, contradicted=0.4)
    app = open_page("compare")
    wording(app, "compare", "groups")
    assert [metric.value for metric in app.metric] == ["0%", "100%"] and charts(app) == 2
    numbers, kinds, groups, *_ = (frame.value for frame in app.dataframe)
    numbers = numbers.set_index("Metric")
    assert numbers.loc["Mean cosine, contradicted"].tolist() == ["0.900", "0.400", "−0.500"]
    assert numbers.loc["Contradicted below weakened"].tolist() == ["0%", "100%", "+100 points"]
    assert kinds["Groups"].tolist() == [15] * 4 + [30] * 4
    assert kinds["Construction"].tolist()[::4] == [
        "Contradicted: Verbal negation",
        "Weakened: Hedge: single word",
    ]
    assert len(groups) == 60 and groups["B − A"].round(3).unique().tolist() == [0.5]


def test_each_missing_model_is_reported_in_one_sentence(app_engine: Engine) -> None:
    app = opened("compare", {"a": "/no/such/model", "b": "/nor/this"})
    found = page_text(app).splitlines()
    for path in ("'/no/such/model'", "'/nor/this'"):
        assert len([line for line in found if path in line]) == 1


def test_typed_sentences_are_checked_compared_and_kept_as_a_set(
    models: list[int], app_engine: Engine, open_page: OpenPage, wording: Wording
) -> None:
    request = Compare(models=(DEFAULT_ENCODER, TRAINED), sentences=tuple(SENTENCES))
    number = perform(app_engine, COMPARE, request).id
    with writing(app_engine) as session:
        run = get_run(session, number)
        run.state = RunState.DONE
        for letter, value in (("a", 0.9), ("b", 0.3)):  # between any two sentences
            matrix = np.full((3, 3), value, dtype=np.float32)
            np.fill_diagonal(matrix, 1.0)
            np.save(run_folder(load_settings(), run) / f"cosines-{letter * 16}.npy", matrix)
    app = open_page("compare")
    app.get("button_group")[0].set_value("Sentences").run()
    app.text_area("compare-text").set_value("Alone.").run()
    assert not charts(app) and " 1." in page_text(app)
    app.text_area("compare-text").set_value("\n".join([*SENTENCES, SENTENCES[0]])).run()
    wording(app, "compare", "typed sentences")
    assert charts(app) == 3 and "0.600" in page_text(app)
    assert app.dataframe[0].value["B − A"].round(3).tolist() == [-0.6] * 3
    assert "onerror" not in unsafe_texts(app)
    use(app, {"compare-save-name": "*Rain*"}, press="compare-save-make")
    assert app.selectbox("set").value == "*Rain*" and charts(app) == 3
    assert ask(open_set, "*Rain*").sentences == SENTENCES


def test_a_set_of_pasted_pairs_is_created_changed_and_deleted(
    models: list[int], app_engine: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("compare")

    def sets() -> dict[str, int]:
        return {name: len(ask(open_set, name).probes) for name in ask(list_sets)}

    def pasted(text: str) -> None:
        use(app, {"compare-new-text": text}, press="compare-new-make")

    bundled = sets()
    app.text_input("compare-new-name").set_value("Weather")
    pasted("It rains. | It pours.\nIt rains.")
    assert sets() == bundled and "Line 2" in page_text(app)
    pasted(f"It rains. | It pours.\nIt rains. | {HOSTILE}")
    assert app.selectbox("set").value == "Weather" and sets() == bundled | {"Weather": 2}
    wording(app, "compare", "a set of pairs")
    assert app.text_area("compare-new-text").value == "" and "onerror" not in unsafe_texts(app)
    use(app, {"compare-more-text": "It rains. | It hails."}, press="compare-more-add")
    assert sets() == bundled | {"Weather": 3}
    use(app, {"compare-rename": "Sixty Groups"}, press="compare-renamed")
    assert "'Sixty Groups'" in page_text(app) and "Weather" in sets(), "the name is taken"
    use(app, {"compare-rename": "Rain"}, press="compare-renamed")
    assert app.selectbox("set").value == "Rain"
    app.button("compare-delete").click().run()
    assert app.selectbox("set").value == GROUPS_SET and "Rain" not in sets()


def test_pairs_with_the_largest_difference_come_first(
    models: list[int], app_engine: Engine, open_page: OpenPage, wording: Wording
) -> None:
    pairs = [ProbePair("It rains.", f"It rains {n} times.", "") for n in range(40)]
    with writing(app_engine) as session:
        create_set(session, name="Rain", content=Pasted(pairs, []), author_id=None)
        probes = open_set(session, "Rain").probes
        for encoder_id, step in zip(models, (0.0, 0.01), strict=True):
            cosines = {stored.id: 0.5 + n * step for n, stored in enumerate(probes)}
            save_probe_cosines(session, cosines, encoder_id=encoder_id)
    app = open_page("compare").selectbox("set").set_value("Rain").run()
    wording(app, "compare", "more pairs than a chart shows")
    assert charts(app) == 1
    table = app.dataframe[0].value
    assert (len(table), table["Second"][0]) == (40, "It rains 39 times.")
