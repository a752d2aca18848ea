"""The overview shows the progress of the data and the next step, from an empty project to a
model."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.corpora.corpus import CORPORA
from curation.importing import corpora
from curation.overview.funnel import Funnel, FunnelRow, funnel
from db.columns import now
from db.engine import reading, writing
from db.models import Encoder, Run, RunState, Split, TypeRow, TypeVersion
from db.runs import create_run, get_run
from pages.components.overview import CELL, STAGES, funnel_chart
from tests.curation.support.deciding import accept, reject
from tests.curation.support.families import add_plain_family
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import keys, links, page_text, press, rows
from tests.support.factories import add_anchor, add_family, freeze, person

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ =1+1"


def running(session: Session, kind: str, **values: object) -> Run:
    run = create_run(session, kind=kind, parameters={})
    session.add(run.sqlmodel_update({"state": RunState.RUNNING, "attempt": 1} | values))
    session.flush()
    return run


def test_an_empty_project_offers_the_first_corpora_and_measures_them(
    open_page: OpenPage,
    started: list[int],
    app_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    first = CORPORA["exclusions"]  # the smallest one
    monkeypatch.setattr(corpora, "FIRST", [first])
    app = open_page("overview")
    wording(app, "overview", "an empty project")
    assert keys(app) == {"load-starter"}
    assert not app.dataframe and not app.get("vega_lite_chart")
    press(app, "load-starter")
    with reading(app_engine) as session:
        assert [get_run(session, number).kind for number in started] == ["diagnose"]
    last = rows(app, "Anchors")[-1]
    assert (last["Type"], last["Anchors"]) == ("All types", first.anchors)
    assert f"Run {started[0]}" in page_text(app) and "measure" not in keys(app)


def test_next_steps_link_to_the_pages_and_measuring_starts_one_run(
    loaded_home: Path, open_page: OpenPage, started: list[int], app_engine: Engine
) -> None:
    app = open_page("overview")
    with reading(app_engine) as session:
        total = funnel(session).total
    numbers = (total.variants, total.pending, total.accepted)
    assert all(f"{number:,} variants" in page_text(app) for number in numbers)
    assert links(app) == ["Review", "Freeze a release"]
    press(app, "measure")
    assert len(started) == 1 and "measure" not in keys(app)
    with reading(app_engine) as session:
        assert get_run(session, started[0]).parameters == {}


def test_the_table_agrees_with_the_funnel(
    with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(with_source) as session:
        ada = person(session)
        families = [add_family(session, f"Bridge {n} is safe.") for n in range(3)]
        for variant in [*families[0].values(), families[1]["verbal"]]:
            accept(session, variant, ada)
        freeze(session)
        run = running(session, "train", state=RunState.DONE)
        session.add(Encoder(name="m", fingerprint="a" * 64, run_id=run.id, release_id=1))
    app = open_page("overview")
    wording(app, "overview", "an encoder is trained")
    with reading(with_source) as session:
        state = funnel(session)
    table = app.dataframe[0].value.set_index("Type")
    for row in (*state.rows, state.total):
        line = table.loc[row.label]
        assert (line["Variants"], line["Pending"]) == (row.variants, row.pending)
        assert (line["Accepted"], line["Released"]) == (row.accepted, row.released)
        assert (line["Triples"], line["Trained on"]) == (row.triples, row.trained)
    assert table.loc["All types", "Triples"] == 12
    assert links(app) == ["Review", "Download"]


def test_work_that_a_run_is_doing_is_not_suggested(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_plain_family(session, 1, split=Split.TRAIN)
        add_anchor(session, "Nothing is written for it.")
        freeze(session)
    app = open_page("overview")
    assert {"Generate", "Train"} <= set(links(app)) and "measure" in keys(app)
    with writing(with_source) as session:
        for kind in ("generate", "train", "diagnose"):
            running(session, kind)
    app.run()
    assert not {"Generate", "Train"} & set(links(app)) and "measure" not in keys(app)


@pytest.mark.parametrize(("attempt", "again"), [(1, True), (5, False)])
def test_measuring_that_was_interrupted_is_taken_up_by_itself(
    with_source: Engine, open_page: OpenPage, started: list[int], attempt: int, again: bool
) -> None:
    with writing(with_source) as session:
        past = now() - timedelta(hours=1)
        run = running(session, "diagnose", lease_until=past, attempt=attempt)
    open_page("overview")
    open_page("overview")
    assert started == [run.id] * again


def test_runs_and_labels_are_shown_as_they_are(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        add_anchor(session)
    app = open_page("overview")
    assert not app.get("vega_lite_chart")  # no variants, no bars
    assert app.dataframe[0].value["Anchors"].tolist() == [1]
    with writing(with_source) as session:
        family = add_family(session, "The road is safe.")
        for type_id in ("lexical", "affixal"):
            family[type_id].retired = True
        current = session.get_one(TypeRow, "verbal").version
        session.get_one(TypeVersion, ("verbal", current)).label = HOSTILE
        running(session, "export", state=RunState.FAILED, message=HOSTILE, finished_at=now())
        running(session, "diagnose", step=2, total=8, message=f"Loading {HOSTILE}.")
    app = open_page("overview")
    assert f"Loading {HOSTILE}" in page_text(app) and f"{HOSTILE} 1" in page_text(app)
    assert "**bold**" not in unsafe_texts(app)
    runs = app.dataframe[1].value
    assert runs["State"].tolist() == ["running", "failed"]
    assert runs["Task"].tolist() == ["Measure variants", "Export a release"]
    assert runs["Message"].tolist() == ["", HOSTILE]
    listed = app.dataframe[0].value["Type"].tolist()  # only types with variants
    assert listed[:2] == [HOSTILE, "Absolute negator"] and len(listed) == len(family) - 2 + 1
    assert not {"Affixal negation", "Lexical negation", "Affirmation"} & {*listed}


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


def test_next_steps_are_for_the_chosen_source_and_link_to_it(
    with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(with_source) as session:
        ada = person(session)
        family = add_family(session)
        accept(session, family.pop("verbal"), ada)
        freeze(session)
        for variant in family.values():
            accept(session, variant, ada)
    app = open_page("overview")
    assert "Release 1 lacks 6 " in page_text(app)
    assert "Train" not in links(app) and not app.selectbox  # the release has no triples
    with writing(with_source) as session:
        freeze(session)
        other = add_family(session, "The door is safe.", source=HOSTILE)
        accept(session, other["verbal"], ada)
        reject(session, other["word"], person(session, "Bert"))
        accept(session, other["word"], ada)
    app = open_page("overview")
    wording(app, "overview", "two sources")
    app.selectbox(key="source").select(HOSTILE).run()
    assert HOSTILE not in unsafe_texts(app)
    wording(app, "overview", "one of two sources")
    last = rows(app, "Anchors")[-1]
    assert (last["Anchors"], last["Variants"]) == (1, 7)
    found = {link.label: link.proto.query_string for link in app.get("page_link")}
    assert "queue-source=" in found["Review"]
    assert "queue-source=" in found["Settle"] and "queue=In+conflict" in found["Settle"]
    app.selectbox(key="source").select("test").run()
    wording(app, "overview", "the other source")
    app.switch_page("pages/anchors.py").run()  # which has its own choice
    assert app.selectbox(key="anchors-source").value is None
    assert len(app.dataframe[0].value) == 2
