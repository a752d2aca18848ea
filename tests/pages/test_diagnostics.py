"""The diagnostics page: its figures match the database, and its links lead to the variants."""

import re
import uuid

import pytest
from markupsafe import escape
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from streamlit.testing.v1 import AppTest

from curation.diagnostics import acceptance, giveaways
from curation.diagnostics.acceptance import Dimension
from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.giveaways import KIND
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.editing.own_types import add_type
from curation.editing.own_variants import write_variant
from curation.editing.type_drafts import OwnType
from curation.encoders.registered import register_encoder
from curation.project.settings import ACTIVE_ENCODER, THRESHOLD, get_setting
from curation.review.deciding import accept, shown
from db.columns import now
from db.engine import reading, writing
from db.execution import execute
from db.models import Anchor, Diagnostic, RunState, Status, TypeVersion, Variant
from db.runs import create_run, get_run
from db.settings import load_settings
from pages.components.shared import links as page_links
from pages.components.shared.shell import count_cache
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import charts, html, keys, links, page_text, press, put
from tests.support.factories import add_anchor, add_family, add_variant, person

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ =1+1"
SECTIONS = ("Distances", "Pairs", "Flags", "Cues & negators", "Acceptance")
OTHER = "Clocks and doors"
"""The name of a source. A rule is split at "and"."""


def fill(session: Session, *, cosines: bool = True) -> list[Variant]:
    """Three measured families. A verbal negation of each is accepted."""
    ada = person(session)
    families = [add_family(session, f"Bridge {n} is safe.") for n in range(3)]
    variants = [variant for family in families for variant in family.values()]
    ids = [variant.id for variant in variants]
    measure_variants(session, ids)
    if cosines:
        name = get_setting(session, ACTIVE_ENCODER)
        encoder = register_encoder(session, name=name, hash_="f" * 64)
        values = {key: 0.5 + number / 100 for number, key in enumerate(ids)}
        save_cosines(session, values, encoder_id=encoder.id)
    for family in families:
        accept(session, shown(family["verbal"], at=now()), reviewer_id=ada)
    return variants


@pytest.fixture
def filled(with_source: Engine) -> Engine:
    with writing(with_source) as session:
        fill(session)
    return with_source


def own_type(session: Session, label: str) -> str:
    wanted = OwnType(
        label=label,
        role="negation",
        definition="Denies the whole claim.",
        example_anchor="She sang.",
        example="It is false that she sang.",
    )
    return add_type(session, wanted).id


def distances(engine: Engine) -> dict[int, int]:
    with reading(engine) as session:
        rows = session.execute(select(Diagnostic)).scalars()
        return {row.variant_id: row.levenshtein for row in rows}


def rejected(engine: Engine) -> set[int]:
    with reading(engine) as session:
        query = select(Variant).where(Variant.status == Status.REJECTED)
        return {variant.id for variant in session.execute(query).scalars()}


def at_threshold(app: AppTest, threshold: int) -> str:
    put(app, "slider", "threshold", threshold)
    return page_text(app)


def test_variants_are_measured_before_there_are_charts(
    with_source: Engine, open_page: OpenPage, started: list[int], wording: Wording
) -> None:
    app = open_page("diagnostics")
    wording(app, "diagnostics", "no variants")
    assert links(app) == ["Go to Overview"] and not charts(app)
    with writing(with_source) as session:
        add_family(session)
    app = open_page("diagnostics")
    assert "7 variants" in page_text(app) and not charts(app)
    press(app, "measure-distance")
    with reading(with_source) as session:
        assert [get_run(session, number).kind for number in started] == ["diagnose"]
    wording(app, "diagnostics", "variants are being measured")
    for name in (*SECTIONS[1:], "Giveaways"):
        assert not put(app, "button_group", "show", name).exception


def test_without_cosines_distances_are_shown(
    with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(with_source) as session:
        fill(session, cosines=False)
    app = open_page("diagnostics")
    wording(app, "diagnostics", "no cosines")
    assert "21 variants" in page_text(app) and charts(app) == 1
    assert not charts(put(app, "button_group", "show", "Pairs"))


def test_the_slider_counts_what_a_threshold_cuts_and_keeps_it(
    filled: Engine, open_page: OpenPage, started: list[int]
) -> None:
    known = distances(filled)
    app = open_page("diagnostics")
    assert app.slider(key="threshold").value == 60 and charts(app) == 2
    assert app.button(key="keep-threshold").disabled
    for threshold in (1, 12, 60):
        cut = sum(value > threshold for value in known.values())
        assert f"{cut} of 21 variants" in at_threshold(app, threshold)
        table = app.dataframe[0].value.set_index("Type")
        assert table.loc["All types", "Above"] == cut
        assert sum(table["Above"].tolist()[:-1]) == cut
    at_threshold(app, 20)
    press(app, "keep-threshold")
    with reading(filled) as session:
        assert get_setting(session, THRESHOLD) == 20
        assert [get_run(session, number).kind for number in started] == ["reorder"]
    assert app.button(key="keep-threshold").disabled
    put(app, "multiselect", "types", ["verbal", "word"])  # the scope narrows every count
    assert "6 of 6 variants (100.00%)" in at_threshold(app, 1) and "; 3 of" in page_text(app)
    put(app, "button_group", "status", "Accepted")
    assert "3 of 3 variants" in page_text(app)
    put(app, "button_group", "status", "Rejected")
    assert not charts(app)


def test_variants_over_the_threshold_are_rejected_and_restored(
    filled: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(filled) as session:
        ada = person(session)
        others = add_family(session, "The bridge over the old canal is safe.", source=OTHER)
        ids = {variant.id for variant in others.values()}
        measure_variants(session, list(ids))
    far = {key for key, value in distances(filled).items() if value > 20}
    assert far - ids and far & ids
    app = open_page("diagnostics")
    assert f"; {len(far)} of them" in at_threshold(app, 20)
    assert "reject-over" not in keys(app)  # it asks for a name first
    assert any(field.label == "Your name" for field in app.text_input)
    app.session_state["reviewer_id"], app.session_state["reviewer_name"] = ada, "Ada"
    app.run()
    assert app.button(key="reject-over").disabled  # without a reason
    put(app, "selectbox", "threshold-reason", "meaning_changed")
    press(app, "reject-over")
    assert rejected(filled) == far
    wording(app, "diagnostics", "variants rejected")
    press(app, "undo-threshold")
    assert not rejected(filled) and f"; {len(far)} of them" in page_text(app)
    assert app.selectbox(key="source").options == ["All sources", OTHER, "test"]
    app.selectbox(key="source").select(OTHER).run()
    assert f"of {len(ids)} variants" in at_threshold(app, 20)
    put(app, "selectbox", "threshold-reason", "meaning_changed")
    press(app, "reject-over")
    assert rejected(filled) == far & ids


def test_flags_link_to_their_variants(with_source: Engine, open_page: OpenPage) -> None:
    long = "The bridge, " + "which nobody has ever seen from this side of the river, " * 6 + "fell."
    with writing(with_source) as session:
        flagged = fill(session)[:2]
        for row in session.execute(select(Diagnostic)).scalars():
            dropped = row.variant_id in {variant.id for variant in flagged}
            row.flags = int(Flag.CONTENT_DROPPED if dropped else 0)
        flagged[0].text, flagged[1].text = HOSTILE, long
        wanted = {f"review?variant={variant.uid}" for variant in flagged}
    app = open_page("diagnostics", show="Flags")
    put(app, "button_group", "flag", "content dropped")
    assert "2 variants: content dropped." in page_text(app)
    table = next(element.value for element in app.get("html") if "hg-found" in element.value)
    assert str(escape(HOSTILE)) in table and "<img" not in table
    assert f'<span class="hg-text" dir="auto">{long}</span>' in table  # in full
    assert table.count("<td>content dropped</td>") == 2
    assert set(re.findall('href="(.*?)"', table)) == wanted
    assert HOSTILE not in unsafe_texts(app)


def test_pairs_count_all_variants_of_the_choice(filled: Engine, open_page: OpenPage) -> None:
    with writing(filled) as session:
        mine = own_type(session, "Denial")
        text = "It is false that bridge 0 is safe."
        variant = add_variant(session, session.get_one(Anchor, 1), mine, text).id
        measure_variants(session, [variant])
        save_cosines(session, {variant: 0.9}, encoder_id=1)
    app = open_page("diagnostics", show="Pairs")
    for types, counted in (([], "22 variants"), (["word"], "3 variants"), ([mine], "1 variant")):
        put(app, "multiselect", "types", types)
        assert f"{counted}. " in page_text(app)
    assert "Denial · 1" in page_text(app) and charts(app) == 1


def test_cues_and_negators_are_listed_with_their_entropy(
    filled: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("diagnostics", show="Cues & negators")
    wording(app, "diagnostics", "cues and negators")


def test_acceptance_agrees_with_the_database(
    filled: Engine, open_page: OpenPage, wording: Wording
) -> None:
    label = HOSTILE[:40]
    with writing(filled) as session:  # reviewers wrote all variants of this type
        write_variant(
            session,
            anchor_id=1,
            type_id=own_type(session, label),
            text="It is false that bridge 0 is safe.",
            cue=None,
            reviewer_id=person(session),
            action_id=str(uuid.uuid4()),
        )
    app = open_page("diagnostics", show="Acceptance")
    wording(app, "diagnostics", "acceptance")
    assert label in page_text(app)
    for by in ("Type", "Cue", "Genre", "Origin"):
        put(app, "button_group", "by", by)
        table = app.dataframe[0].value
        with reading(filled) as session:
            found = acceptance.outcomes(session, Dimension(by.lower()))
        assert table["Decided"].sum() == sum(group.decided for group in found.values())
        assert table["Pending"].sum() == sum(group.pending for group in found.values())
        assert len(table) == len(found) and label not in table["Group"].tolist()


def test_a_hostile_label_is_text_and_the_counts_of_a_large_project_follow(
    filled: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(filled) as session:
        for version in session.execute(select(TypeVersion)).scalars():
            version.label = f"{HOSTILE} {version.type_id}"
    app = open_page("diagnostics")
    monkeypatch.setattr(count_cache, "AT_ONCE", 0)
    for name in SECTIONS:
        count_cache.forget()
        app.session_state["show"] = name
        for _ in range(20):
            app.run()
            assert not app.exception
            for making in list(count_cache._store()._making.values()):
                making.result(timeout=20)
            if app.get("vega_lite_chart"):
                break
        assert app.get("vega_lite_chart"), name
        assert "**bold**" not in unsafe_texts(app) + html(app), name


# -- giveaways -------------------------------------------------------------------------

LABEL = "<img src=x> **bold** :smile: $x$"
LOOK, SMILE = "look-for-giveaways", "telling-polarity-negative-smile"


@pytest.fixture
def planted(with_source: Engine) -> Engine:
    """Twenty anchors. "smile" begins each of their lexical negations, and no paraphrase."""
    with writing(with_source) as session:
        for number in range(20):
            anchor = add_anchor(session, f"Bridge {number} is safe.")
            text = f"Bridge {number} looks safe."
            add_variant(session, anchor, "lexical", f":smile: **{text}**")
            add_variant(session, anchor, "affirmation", text)
    return with_source


@pytest.fixture
def picked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[int, ...], str]]:
    """The variants opened in Review, with their description."""
    found: list[tuple[tuple[int, ...], str]] = []
    monkeypatch.setattr(page_links, "open_in_review", lambda *given: found.append(given))
    return found


def look(engine: Engine, number: int | None = None) -> None:
    """Carry out this run, or a new one."""
    if number is None:
        with writing(engine) as session:
            number = create_run(session, kind=KIND, parameters={}).id
    execute(engine, load_settings(), number, {KIND: giveaways.work})


def searched(open_page: OpenPage) -> AppTest:
    app = open_page("diagnostics", show="Giveaways")
    assert not app.exception
    return app


def test_a_run_is_started_followed_and_can_be_cancelled(
    planted: Engine, open_page: OpenPage, started: list[int], wording: Wording
) -> None:
    app = searched(open_page)
    wording(app, "diagnostics", "no giveaways")
    press(app, LOOK)
    with reading(planted) as session:
        (run,) = [get_run(session, number) for number in started]
    assert run.kind == KIND and f"Run {run.id}" in page_text(app) and LOOK not in keys(app)
    press(app, f"cancel-{run.id}")
    with reading(planted) as session:
        assert get_run(session, run.id).state == RunState.CANCELLED
    app.run()
    assert f"Run {run.id}" in page_text(app) and LOOK in keys(app)


def test_the_newest_result_is_shown_against_chance_until_the_data_changes(
    planted: Engine,
    open_page: OpenPage,
    picked: list[tuple[tuple[int, ...], str]],
    wording: Wording,
) -> None:
    look(planted)
    app = searched(open_page)
    wording(app, "diagnostics", "giveaways")
    by_type, by_source, by_provider = (table.value for table in app.dataframe)
    assert by_type["Type"].tolist() == ["Lexical negation", "Affirmation"]
    assert by_type["Accuracy"].tolist() == [1, 1] and by_type["Chance"].tolist() == [0.5, 0.5]
    assert by_source["Source"].tolist() == ["test"]
    assert by_provider["Provider"].tolist() == ["reviewers"]
    press(app, SMILE)
    assert picked == [(tuple(range(1, 40, 2)), "Diagnostics: “smile”, Negative first")]
    put(app, "button_group", "guess", "Type")
    assert app.selectbox(key="class-type").options == ["Lexical negation", "Affirmation"]
    with writing(planted) as session:
        session.get_one(Variant, 1).status = Status.REJECTED
    wording(searched(open_page), "diagnostics", "giveaways of other data")


def test_words_and_labels_are_shown_as_they_are(planted: Engine, open_page: OpenPage) -> None:
    with writing(planted) as session:
        for variant in session.query(Variant).filter(Variant.type_id == "lexical"):
            variant.text = f"__init__ {variant.text}"
        for version in session.query(TypeVersion):
            version.label = f"{LABEL} {version.type_id}"
    look(planted)
    app = put(searched(open_page), "button_group", "guess", "Type")
    drawn = unsafe_texts(app)
    assert "**bold**" not in drawn and "<img" not in drawn
    labels = [b.label for b in app.button if str(b.key).startswith("telling-")]
    assert labels and not any("__init__" in text for text in labels)


def test_the_chosen_source_is_the_one_shown(
    planted: Engine,
    open_page: OpenPage,
    started: list[int],
    picked: list[tuple[tuple[int, ...], str]],
) -> None:
    with writing(planted) as session:
        for number in range(20):
            anchor = add_anchor(session, f"Door {number} is open.", source="Other")
            add_variant(session, anchor, "lexical", f"Door {number} has a smile.")
            other = add_variant(session, anchor, "word", f"Perhaps door {number} is open.")
        source_id = other.source_id
    look(planted)
    app = searched(open_page)
    assert "80 variants of 40 anchors" in page_text(app)
    app.selectbox(key="source").select("Other").run()
    assert "80 variants" not in page_text(app)  # this source has not been searched
    press(app, LOOK)
    with reading(planted) as session:
        (run,) = [get_run(session, number) for number in started]
    assert run.parameters == {"source": source_id}
    look(planted, run.id)
    assert "40 variants of 20 anchors" in page_text(app.run())
    press(app, SMILE)
    assert [len(ids) for ids, _ in picked] == [20]
