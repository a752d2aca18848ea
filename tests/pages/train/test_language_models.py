"""Language models and NevIR on the Train page, here and at a provider, from rows. The page itself
trains nothing and sends nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from curation.generation.providers.chat.completions import KEY_VARIABLE
from db.engine import writing
from db.models import RunState
from db.runs import get_run
from db.settings import load_settings
from pages.components.shared.shell.open_project import ask
from pages.components.train.language_sections import ARMS, PROVIDER, RESULTS, TRAIN
from pages.components.train.training_runs import NEVIR
from tests.pages.conftest import Wording, unsafe_texts
from tests.pages.looks import change, charts, newest, page_text, use
from tests.pages.train.conftest import HOSTILE, add_metrics, language_page, page
from tests.support.generating import Serve
from tests.training.ranking.support.finetunings import ENTRIES, lines
from tests.training.support.trainings import perform
from training.benchmarks.sources import keep_data
from training.llm import provider_request as provider
from training.llm.provider_request import Job, keep_job
from training.llm.request import FINETUNE_LANGUAGE_MODEL, FinetuneLanguageModel
from training.models.finetuned import LANGUAGE_MODEL_KIND
from training.models.finetuned import RANKER_KIND as RANKERS
from training.ranking.figures import QUANTILES, quantile
from training.ranking.pairs import keep_pairs
from training.ranking.request import FINETUNE_ON_PAIRS, RankingRequest
from training.studies import language_study, members

KEY = "sk-typed-in-by-somebody"
BEFORE = {"right": 0.5, "right:Yes": 0.25, "right:No": 0.75, "eval_loss": 1.5}
AFTER = {"right": 0.875, "right:Yes": 1.0, "right:No": 0.75, "eval_loss": 0.5}


def store(engine: Engine, base: Path, state: RunState = RunState.DONE, **values: object) -> int:
    """A finetuning run with two evaluations, whose base model the page then offers."""
    wanted = FinetuneLanguageModel(base=str(base), **values)
    number = perform(engine, FINETUNE_LANGUAGE_MODEL, wanted).id
    with writing(engine) as session:
        run = get_run(session, number)
        run.state, run.message = state, f"Failed at {HOSTILE}"
        for step in (0, 30):
            figures = {name: value + step / 100 for name, value in BEFORE.items()}
            add_metrics(session, run.id, step, figures | {"epoch": step / 100})
            add_metrics(session, run.id, step + 1, {"loss": 0.5})
        if state == RunState.DONE:
            run.result = {
                "model": f"{run.folder}/model",
                "merged": "",
                "base": str(base),
                "release": 1,
                "arm": "both",
                "pairs": {"train": 24, "validation": 4, "too_long": 2},
                "steps": 30,
                "seconds": 90.0,
                "device": "cpu",
                "before": BEFORE,
                "after": AFTER,
            }
        return run.id


@pytest.mark.parametrize("section", [TRAIN, PROVIDER])
def test_without_a_release_the_page_says_what_to_do(
    app_engine: Engine, wording: Wording, section: str
) -> None:
    app = language_page(section)
    wording(app, "train", f"language models without a release: {section}")
    assert not {"llm-start", "llm-provider-start"} & {button.key for button in app.button}


def test_one_click_stores_a_finetuning_with_the_settings_shown(
    released: Engine, small_llama: Path, started: list[int], tmp_path: Path, wording: Wording
) -> None:
    app = language_page(**{"llm-base": str(tmp_path)})
    assert "causal language model" in page_text(app) and app.button("llm-start").disabled
    app = language_page()
    wording(app, "train", "language models")
    assert "Meta-Llama-3-8B-Instruct" in str(app.selectbox("llm-base").value)
    earlier = store(released, small_llama)
    app = language_page()
    assert app.selectbox("llm-base").value == str(small_llama)
    app.text_input("llm-recipe-targets").set_value("").run()
    assert app.button("llm-start").disabled and "targets" in page_text(app)
    use(
        app,
        {
            "llm-recipe-targets": "q_proj",
            "llm-recipe-epochs": 2.0,
            "llm-recipe-modules_to_save": "embed_tokens,lm_head",
            "llm-arm": "paper",
            "llm-merge": True,
        },
    )
    assert "36 question pairs" in page_text(app) and " 4 before" in page_text(app)
    app.button("llm-start").click().run()
    asked = newest(LANGUAGE_MODEL_KIND).parameters
    assert started == [earlier + 1]
    recipe = asked["recipe"]
    assert (recipe["epochs"], recipe["arm"], recipe["rank"]) == (2, "paper", 16)
    assert recipe["modules_to_save"] == ["embed_tokens", "lm_head"]
    assert asked["merge"] and asked["base"] == str(small_llama.resolve())


def test_results_show_figures_curves_and_the_folder_and_a_failed_run_can_be_restarted(
    released: Engine, small_llama: Path, started: list[int], wording: Wording
) -> None:
    first = store(released, small_llama)
    second = store(released, small_llama, seed=2)
    app = language_page(RESULTS)
    wording(app, "train", "the results of a language model")
    assert "87.5%" in page_text(app)
    figures, every = (frame.value for frame in app.dataframe)
    assert list(figures["After"]) == ["87.5%", "100.0%", "75.0%", "0.5000"]
    assert list(every["Run"]) == [second, first] and charts(app) == 2
    assert any(code.value.endswith(f"{second:05d}-finetune-llm/model") for code in app.code)
    failed = store(released, small_llama, RunState.FAILED, seed=3)
    for section in (RESULTS, TRAIN):
        app = language_page(section)
        if section == RESULTS:
            app.selectbox(f"train-run-{failed}").set_value(failed).run()
        assert HOSTILE in page_text(app) and HOSTILE not in unsafe_texts(app)
    app.button(f"again-{failed}").click().run()
    assert started == [failed] and ask(get_run, failed).state == RunState.QUEUED


def test_the_arms_are_compared_in_a_table(
    released: Engine,
    small_llama: Path,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    wording(language_page(ARMS), "train", "no ablation of a language model")
    monkeypatch.setattr(language_study, "ARMS", {"All": "paper", "Everything": "both"})
    number = store(released, small_llama) + 1
    language_page().button("llm-start-arms").click().run()
    assert started == [number]
    with writing(released) as session:
        run = get_run(session, number)
        run.state = RunState.DONE
        for trial in members.trials(session, run):
            trial.run.state = RunState.DONE
            trial.run.result = {
                "pairs": {"train": 24},
                "before": {"right": 0.5},
                "after": {"right": 1.0},
            }
    shown = language_page(ARMS).dataframe[0].value
    assert list(shown.columns) == ["", "All", "Everything"]
    assert list(shown.iloc[0]) == ["All", "50.0 → 100.0%", "50.0 → 100.0%"]


# -- at a provider ---------------------------------------------------------------------


def store_sent(engine: Engine, state: RunState, **how: Any) -> int:
    """A run in this state, with a curve and, if it is done, a model."""
    request = provider.ProviderRequest(**{"model": HOSTILE[:200]} | how)
    keys = {KEY_VARIABLE: KEY}
    number = perform(engine, provider.FINETUNE_AT_PROVIDER, request, **keys).id
    with writing(engine) as session:
        run = get_run(session, number)
        run.state, run.message = state, f"The job is {HOSTILE}"
        for step in range(1, 4):
            add_metrics(session, run.id, step, {"loss": 1 / step})
        add_metrics(session, run.id, 3, {"eval_loss": 0.4})
        if state is RunState.DONE:
            run.result = {
                "job": "ftjob-1",
                "fine_tuned_model": f"ft:{HOSTILE}",
                "base": HOSTILE,
                "base_url": "",
                "release": 1,
                "arm": "both",
                "train": 36,
                "validation": 4,
                "tokens": 1234,
                "cost": 0.5,
                "epochs": 3,
            }
        return run.id


def test_a_click_stores_the_values_shown_and_only_the_process_gets_the_key(
    released: Engine, environments: list[dict[str, str]], wording: Wording
) -> None:
    app = language_page(PROVIDER).selectbox("generate-model").set_value("gpt-4o-mini").run()
    wording(app, "train", "finetuning at a provider")
    assert "36 question pairs of release 1" in page_text(app)
    assert app.button("llm-provider-start").disabled, "OpenAI needs a key"
    use(app, {"generate-key-llm": KEY, "llm-provider-epochs": 2})
    assert "2 epochs" in page_text(app)
    app.button("llm-provider-start").click().run()
    assert not app.exception
    asked = newest(provider.KIND).parameters
    assert (asked["model"], asked["epochs"]) == ("gpt-4o-mini", 2)
    assert (asked["release"], asked["seed"]) == (1, None)
    assert environments == [{KEY_VARIABLE: KEY}] and KEY not in str(asked)
    app = use(
        language_page(PROVIDER), {"generate-model": "gpt-4o-mini", "llm-provider-arm": "hedging"}
    )
    assert "original contradiction" in page_text(app), "the release has none"


def test_the_result_is_shown_and_can_be_chosen_as_a_chat_model(
    released: Engine, wording: Wording
) -> None:
    store_sent(released, RunState.DONE)
    store_sent(released, RunState.DONE, seed=2)
    app = language_page(PROVIDER)
    wording(app, "train", "a result of a provider")
    assert f"ft:{HOSTILE}" in [element.value for element in app.code]
    assert "1,234 tokens" in page_text(app) and "0.4000" in page_text(app) and charts(app) == 1
    assert app.dataframe[0].value["US$"].tolist() == [0.5, 0.5]
    assert f"ft:{HOSTILE}" in app.selectbox("generate-model").options
    assert HOSTILE not in unsafe_texts(app)


def test_a_paused_run_can_be_resumed_with_its_key(
    released: Engine, environments: list[dict[str, str]]
) -> None:
    run_id = store_sent(released, RunState.PAUSED, model="small", base_url="http://127.0.0.1:9/v1")
    app = language_page(PROVIDER)
    assert f"llm-provider-cancel-{run_id}" not in [button.key for button in app.button], (
        "nothing was started there"
    )
    use(app, {f"generate-key-llm-{run_id}": KEY}, press=f"again-{run_id}")
    assert [found[KEY_VARIABLE] for found in environments] == [KEY]
    assert newest(provider.KIND).state is RunState.QUEUED


def test_cancelling_a_paused_run_cancels_its_job_with_the_typed_key(
    released: Engine, serve_chat: Serve
) -> None:
    address, server = serve_chat(key=KEY)
    job = {"id": "ftjob-7", "status": "running", "training_file": "file-1"}
    server.finetuning.jobs["ftjob-7"] = job
    run_id = store_sent(released, RunState.PAUSED, model="small", base_url=address)
    folder = load_settings().data_folder / newest(provider.KIND).folder
    folder.mkdir(parents=True, exist_ok=True)
    keep_job(folder, Job(label="x", training_file="file-1", started=True, job="ftjob-7"))
    language_page(PROVIDER).button(f"llm-provider-cancel-{run_id}").click().run()
    assert job["status"] == "running", "no key was typed in yet"
    change(run_id, state=RunState.PAUSED)
    app = use(
        language_page(PROVIDER),
        {f"generate-key-llm-{run_id}": KEY},
        press=f"llm-provider-cancel-{run_id}",
    )
    assert job["status"] == "cancelled" and not app.exception


def keep(entries: Sequence[Any] = ENTRIES, name: str = "pairs.jsonl") -> str:
    """Add a file of pairs to the project."""
    return keep_pairs(load_settings().data_folder, name, lines(entries)).file


def store_nevir(engine: Engine, *, state: RunState, encoder: bool = True, **values: object) -> int:
    """A finetuning run with metrics of two epochs."""
    data = keep()
    request = RankingRequest(data=data, data_name=HOSTILE[:200], **values)
    number = perform(engine, FINETUNE_ON_PAIRS, request).id
    with writing(engine) as session:
        run = get_run(session, number)
        run.state, run.message = state, f"Measuring {HOSTILE}"
        figures = {"nevir": 0.25, "nevir:low": 0.1, "nevir:high": 0.5, "reranking": 0.9}
        if encoder:
            figures |= {"documents": 0.9, "documents:sd": 0.1}
            figures |= {quantile(percent): percent / 100 for percent in QUANTILES}
        for step in (0, 10):
            add_metrics(session, run.id, step, figures | {"epoch": step / 10})
        if state == RunState.DONE:
            taught = {"trained_on": 16, "passages": 16, "held_out": 4}
            run.result = {
                "model": f"{run.folder}/model",
                "name": f"run {run.id}: {HOSTILE}",
                "architecture": "bi-encoder" if encoder else "cross-encoder",
                "fingerprint": f"f{run.id}",
                "loss": "MultipleNegativesRankingLoss",
                "data": {"name": HOSTILE, "hash": data[:64]} | taught,
                "validation": {},
            }
        return run.id


def test_one_click_stores_a_finetuning_on_pairs_with_the_settings_shown(
    app_engine: Engine, started: list[int], wording: Wording
) -> None:
    app = page(NEVIR)
    wording(app, "train", "NevIR without pairs")
    assert app.button("nevir-start").disabled and not charts(app)
    keep()
    app = page(NEVIR)
    wording(app, "train", "NevIR")
    assert "16 training pairs, 4 held out" in page_text(app)
    use(app, {"nevir-epochs": 3, "nevir-architecture": "cross-encoder"}, press="nevir-start")
    run = newest(RANKERS)
    assert started == [run.id] and run.parameters["data_name"] == "pairs.jsonl"
    assert (run.parameters["epochs"], run.parameters["architecture"]) == (3, "cross-encoder")


def test_the_pairs_are_shown_with_their_split_or_why_they_have_none(app_engine: Engine) -> None:
    keep([ENTRIES[0] | {"q1": HOSTILE}, *ENTRIES[1:]])
    app = page(NEVIR).toggle("nevir-show-pairs").set_value(True).run()
    shown = app.dataframe[0].value
    assert shown["Part"].value_counts().to_dict() == {"training": 16, "measured": 4}
    assert set(shown["doc1"]) == {one["doc1"] for one in ENTRIES}
    assert HOSTILE in set(shown["q1"]) and HOSTILE not in unsafe_texts(app)
    keep(ENTRIES[:1], "one.jsonl")
    app = page(NEVIR).toggle("nevir-show-pairs").set_value(True).run()
    assert "'one.jsonl'" in page_text(app) and not app.dataframe


def test_pairs_from_a_test_set_are_refused_before_the_click_and_can_be_left_out(
    app_engine: Engine, started: list[int], wording: Wording
) -> None:
    keep()
    keep_data(load_settings().data_folder, "nevir", {"test.jsonl": lines(ENTRIES[:1])})
    app = page(NEVIR)
    wording(app, "train", "NevIR with pairs of a test set")
    assert "'test.jsonl'" in page_text(app) and app.button("nevir-start").disabled
    app.button("nevir-untested").click().run()
    assert "pairs-untested.jsonl" in page_text(app)
    assert "15 training pairs, 4 held out" in page_text(app)
    app.button("nevir-start").click().run()
    assert started == [1] and not app.exception


def test_a_known_file_is_selected_and_named_as_known(app_engine: Engine) -> None:
    keep(name="first.jsonl")
    keep(ENTRIES[:12], "second.jsonl")
    app = page(NEVIR)
    assert app.selectbox("nevir-data-2-0").value == "second.jsonl"
    app.file_uploader("nevir-file-0").set_value(("first.jsonl", lines(ENTRIES), "text/plain")).run()
    assert "first.jsonl" in page_text(app) and "20 pairs" in page_text(app)
    assert app.selectbox("nevir-data-2-1").value == "first.jsonl"
    assert "20 pairs" not in page_text(app.run()), "it is reported once"


def test_runs_are_compared_with_the_data_they_were_trained_on(
    app_engine: Engine, wording: Wording
) -> None:
    encoder = store_nevir(app_engine, state=RunState.DONE)
    reranker = store_nevir(app_engine, state=RunState.DONE, encoder=False, seed=7)
    app = page(NEVIR)
    wording(app, "train", "results of NevIR")
    assert charts(app) == 2, "the newest is no encoder"
    app.multiselect(f"nevir-runs-{reranker}").set_value([encoder, reranker]).run()
    assert charts(app) == 3
    taught = app.dataframe[-1].value
    assert taught["Training data"].tolist() == [HOSTILE, HOSTILE]
    assert taught["Pairs"].tolist() == [16, 16] and taught["Held-out pairs"].tolist() == [4, 4]
    numbers = app.dataframe[0].value
    assert numbers["upper end of its 95% interval"].tolist() == [0.5] * 4
    assert numbers["epoch"].tolist() == [0, 1, 0, 1] and HOSTILE not in unsafe_texts(app)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.FAILED, RunState.CANCELLED])
def test_a_run_shows_its_curves_so_far_and_a_stopped_one_can_be_restarted(
    app_engine: Engine, started: list[int], state: RunState
) -> None:
    run_id = store_nevir(app_engine, state=state)
    app = page(NEVIR)
    assert f"Run {run_id}" in page_text(app)
    if state == RunState.QUEUED:
        assert charts(app) == 3 and "16 training pairs, 4 held out" in page_text(app)
    else:
        app.button(f"again-{run_id}").click().run()
        assert started == [run_id] and not app.exception
