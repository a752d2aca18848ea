"""The overview shows the progress of the data and the next step, from an empty project to a
model."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from streamlit.testing.v1 import AppTest

from curation.corpora.corpus import FIRST
from curation.project.funnel import Funnel, FunnelRow, funnel
from curation.release.freezing import create_release
from curation.review.actions import accept, reject, shown
from db.columns import now
from db.engine import reading, writing
from db.models import Encoder, Run, RunState, Split, TypeRow, TypeVersion, Variant
from db.runs import create_run, get_run
from pages.components.overview.funnel_chart import CELL, STAGES, funnel_chart
from tests.curation.support.families import add_plain_family
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_anchor, add_family, person

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ =1+1"


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


def links(app: AppTest) -> list[str]:
    return [link.label for link in app.get("page_link")]


def running(session: Session, kind: str, **values: object) -> Run:
    run = create_run(session, kind=kind, parameters={})
    session.add(run.sqlmodel_update({"state": RunState.RUNNING, "attempt": 1} | values))
    session.flush()
    return run


def test_an_empty_project_offers_the_starter_corpus_and_nothing_else(open_page: OpenPage) -> None:
    app = open_page("overview")
    assert [button.key for button in app.button] == ["load-starter"]
    assert not app.dataframe
    assert not app.get("vega_lite_chart")
    assert "no sentences yet" in app.markdown[0].value


@pytest.mark.slow
def test_loading_the_first_corpora_fills_the_funnel_and_measures_them(
    open_page: OpenPage, started: list[int], app_engine: Engine
) -> None:
    app = open_page("overview").button(key="load-starter").click().run()
    assert not app.exception
    with reading(app_engine) as session:
        count = session.execute(select(func.count()).select_from(Variant)).scalar_one()
        assert count > 9_000
        assert [get_run(session, number).kind for number in started] == ["diagnose"]
    assert app.dataframe[0].value["Type"].tolist()[-1] == "All types"
    anchors = sum(corpus.anchors for corpus in FIRST)
    assert app.dataframe[0].value["Anchors"].tolist()[-1] == anchors
    assert "Measure variants" in texts(app)  # the run is being followed
    assert "not measured yet" not in texts(app)  # and is not suggested again


def test_next_steps_link_to_the_pages(
    loaded_home: Path, open_page: OpenPage, app_engine: Engine
) -> None:
    app = open_page("overview")
    with reading(app_engine) as session:
        total = funnel(session).total
    shown = texts(app)
    assert f"{total.variants:,} variants are not measured yet" in shown
    assert f"{total.pending:,} variants are pending: Verbal negation 2" in shown
    assert f"{total.accepted:,} variants are accepted" in shown
    assert links(app) == ["Review", "Freeze a release"]


def test_a_conflict_is_shown_and_links_to_its_queue(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        card = shown(add_family(session)["verbal"])
        accept(session, card, reviewer_id=person(session))
        card = card._replace(action_id="later")
        reject(session, card, reviewer_id=person(session, "Bert"), reason="wrong_type")
    app = open_page("overview")
    assert "1 variant is in conflict" in texts(app)
    link = next(link for link in app.get("page_link") if link.label == "Settle")
    assert "queue=In+conflict" in link.proto.page + link.proto.query_string


def test_measuring_starts_one_run(
    loaded_home: Path, open_page: OpenPage, started: list[int], app_engine: Engine
) -> None:
    app = open_page("overview").button(key="measure").click().run()
    assert len(started) == 1
    assert "measure" not in [button.key for button in app.button]
    with reading(app_engine) as session:
        assert get_run(session, started[0]).parameters == {}


def test_the_table_agrees_with_the_funnel(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        ada = person(session)
        families = [add_family(session, f"Bridge {n} is safe.") for n in range(3)]
        for variant in [*families[0].values(), families[1]["verbal"]]:
            accept(session, shown(variant, at=now()), reviewer_id=ada)
        create_release(session)
        run = running(session, "train", state=RunState.DONE)
        session.add(Encoder(name="m", fingerprint="a" * 64, run_id=run.id, release_id=1))
    app = open_page("overview")
    with reading(with_source) as session:
        state = funnel(session)
    table = app.dataframe[0].value.set_index("Type")
    for row in (*state.rows, state.total):
        line = table.loc[row.label]
        assert (line["Variants"], line["Pending"]) == (row.variants, row.pending)
        assert (line["Accepted"], line["Released"]) == (row.accepted, row.released)
        assert (line["Triples"], line["Trained on"]) == (row.triples, row.trained)
    assert table.loc["All types", "Triples"] == 12
    assert "1 encoder has been trained, on release 1." in "".join(
        caption.value for caption in app.caption
    )
    assert links(app) == ["Review", "Download"]


def test_work_that_a_run_is_doing_is_not_suggested(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_plain_family(session, 1, split=Split.TRAIN)
        add_anchor(session, "Nothing is written for it.")
        create_release(session)
    app = open_page("overview")
    assert {"Generate", "Train"} <= set(links(app))
    assert "measure" in [button.key for button in app.button]
    with writing(with_source) as session:
        for kind in ("generate", "train", "diagnose"):
            running(session, kind)
    app = open_page("overview")
    assert not {"Generate", "Train"} & set(links(app))
    assert "measure" not in [button.key for button in app.button]


def test_after_changes_a_new_release_is_proposed(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        family = add_family(session)
        ada = person(session)
        accept(session, shown(family["verbal"], at=now()), reviewer_id=ada)
        create_release(session)
        accept(session, shown(family["word"], at=now()), reviewer_id=ada)
    app = open_page("overview")
    assert "Release 1 lacks 1 accepted variant." in texts(app)
    assert "Train" not in links(app)  # the release has no triples to train on


def test_runs_under_way_and_past_ones_are_shown(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        add_family(session)
        running(session, "export", state=RunState.FAILED, message=HOSTILE, finished_at=now())
        running(session, "diagnose", step=2, total=8, message=f"Loading {HOSTILE}.")
    app = open_page("overview")
    assert f"Loading {HOSTILE}" in texts(app)
    assert "**bold**" not in unsafe_texts(app)
    runs = app.dataframe[1].value
    assert runs["State"].tolist() == ["running", "failed"]
    assert runs["Task"].tolist() == ["Measure variants", "Export a release"]
    assert runs["Message"].tolist() == ["", HOSTILE]


def test_a_hostile_label_is_text_everywhere(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        add_family(session)
        current = session.get_one(TypeRow, "verbal").version
        session.get_one(TypeVersion, ("verbal", current)).label = HOSTILE
    app = open_page("overview")
    assert f"{HOSTILE} 1" in texts(app)
    assert app.dataframe[0].value["Type"].tolist()[0] == HOSTILE
    assert "**bold**" not in unsafe_texts(app)


def test_the_chart_draws_every_stage_of_every_type_to_scale() -> None:
    rows = (
        FunnelRow("verbal", "Verbal", "negation", anchors=10, variants=20, accepted=5, triples=80),
        FunnelRow("word", "Word", "hedge", anchors=10, variants=10, triples=40),
    )
    total = FunnelRow("", "All types", "", anchors=10, variants=30, accepted=5, triples=80_123)
    state = Funnel(rows=rows, total=total, newest=None, models=0, trained_release=None)
    spec = funnel_chart(state, dark=False)
    bars, _, *heads = spec["layer"]
    cells = bars["data"]["values"]
    assert len(cells) == len(rows) * len(STAGES)
    lengths = {(c["type"], c["stage"]): round((c["end"] - c["start"]) / CELL, 3) for c in cells}
    assert lengths["Verbal", "Variants"] == 1.0
    assert lengths["Verbal", "Anchors"] == lengths["Word", "Variants"] == 0.5
    assert lengths["Verbal", "Accepted"] == 0.25
    assert (lengths["Verbal", "Triples"], lengths["Word", "Triples"]) == (1.0, 0.5)
    assert lengths["Word", "Trained"] == 0.0
    chart_values = {
        value for head in heads for row in head["data"]["values"] for value in row.values()
    }
    assert {"Variants", "30", "80.1k", "All types"} <= chart_values


def test_the_progress_of_one_source_is_shown_if_there_are_several(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
    assert not open_page("overview").selectbox
    with writing(with_source) as session:
        add_family(session, "The door is safe.", source=HOSTILE)
        add_anchor(session, "A second one.", source=HOSTILE)
    app = open_page("overview")
    app.selectbox(key="source").select_index(1).run()
    assert HOSTILE not in unsafe_texts(app)
    table = app.dataframe[0].value
    assert (table["Anchors"].tolist()[-1], table["Variants"].tolist()[-1]) == (2, 7)
    assert "7 variants are pending" in texts(app) and "1 anchor has no variants yet" in texts(app)
    app.switch_page("pages/anchors.py").run()
    assert app.selectbox(key="anchors-source").value is None
    assert len(app.dataframe[0].value) == 3


def test_next_steps_are_for_the_chosen_source_and_link_to_it(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        ada = person(session)
        own = add_family(session)
        for variant in own.values():
            accept(session, shown(variant, at=now()), reviewer_id=ada)
        create_release(session)
        other = add_family(session, "The door is safe.", source="Other")
        accept(session, shown(other["verbal"], at=now()), reviewer_id=ada)
        reject(
            session,
            shown(other["word"], at=now()),
            reviewer_id=person(session, "Bert"),
            reason="wrong_type",
        )
        accept(session, shown(other["word"], at=now()), reviewer_id=ada)
    app = open_page("overview")
    assert "Release 1 has 7 variants. Download it to share it." in texts(app)
    app.selectbox(key="source").select("Other").run()
    page_words = texts(app)
    assert "5 variants are pending" in page_words and "1 variant is in conflict" in page_words
    assert "Release 1 lacks 1 accepted variant." in page_words
    assert "Download it" not in page_words and "No encoder has been trained" not in page_words
    found = {link.label: link.proto.query_string for link in app.get("page_link")}
    assert found["Review"] == "queue-source=Other"
    assert "queue-source=Other" in found["Settle"] and "queue=In+conflict" in found["Settle"]
    app.selectbox(key="source").select("test").run()
    assert "Release 1 has 7 variants of this source. Download it to share it." in texts(app)
    assert "pending" not in texts(app)


def test_a_project_without_variants_has_no_bars(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        add_anchor(session)
    app = open_page("overview")
    assert not app.get("vega_lite_chart")
    assert app.dataframe[0].value["Anchors"].tolist() == [1]


def test_types_without_variants_are_not_listed(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        family = add_family(session)
        for type_id in ("verbal", "lexical"):
            family[type_id].retired = True
    listed = open_page("overview").dataframe[0].value["Type"].tolist()
    assert "Absolute negator" in listed and len(listed) == len(family) - 2 + 1
    assert not {"Verbal negation", "Lexical negation", "Affirmation", "Unsupported"} & {*listed}
