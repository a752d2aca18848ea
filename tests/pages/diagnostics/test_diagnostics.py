"""The diagnostics page: its figures match the database, and its links lead to the variants."""

import re
import uuid
from pathlib import Path

import pytest
from markupsafe import escape
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from streamlit.testing.v1 import AppTest

from curation.diagnostics import acceptance
from curation.diagnostics.acceptance import Dimension
from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.encoders.registered import register_encoder
from curation.project.opening import ACTIVE_ENCODER, THRESHOLD, get_setting
from curation.review.actions import accept, shown
from curation.taxonomy.own_types import add_type
from curation.taxonomy.type_drafts import OwnType
from curation.variants.own import write_variant
from db.columns import now
from db.engine import reading, writing
from db.models import Anchor, Diagnostic, Status, TypeVersion, Variant
from db.runs import get_run
from pages.components.shared.shell import count_cache
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_family, add_variant, person

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ =1+1"
PHRASE = "I'm not entirely sure, but the bridge seems safe."


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


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


def distances(engine: Engine) -> dict[int, int]:
    with reading(engine) as session:
        return {
            row.variant_id: row.levenshtein for row in session.execute(select(Diagnostic)).scalars()
        }


def section(app: AppTest, name: str) -> AppTest:
    app.session_state["show"] = name
    return app.run()


def sign_in(app: AppTest, engine: Engine) -> AppTest:
    with writing(engine) as session:
        app.session_state["reviewer_id"] = person(session)
    app.session_state["reviewer_name"] = "Ada"
    return app.run()


def test_without_variants_it_links_to_the_overview(open_page: OpenPage) -> None:
    app = open_page("diagnostics")
    assert not app.exception
    assert "no variants yet" in app.markdown[0].value
    assert [link.label for link in app.get("page_link")] == ["Go to Overview"]
    assert not app.get("vega_lite_chart")


def test_unmeasured_variants_can_be_measured(
    with_source: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(with_source) as session:
        add_family(session)
    app = open_page("diagnostics")
    assert "7 variants have no distance yet." in texts(app)
    assert not app.get("vega_lite_chart")
    app.button(key="measure-distance").click().run()
    with reading(with_source) as session:
        assert [get_run(session, number).kind for number in started] == ["diagnose"]
    assert not app.exception
    assert "Measure variants" in texts(app)  # the run is being followed
    for name in ("Pairs", "Flags", "Cues & negators", "Acceptance", "Giveaways"):
        assert not section(app, name).exception


def test_without_cosines_distances_are_shown(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session, cosines=False)
    app = open_page("diagnostics")
    assert "21 variants have no cosine yet." in texts(app)
    assert len(app.get("vega_lite_chart")) == 1
    assert "None of the selected variants has both" in texts(section(app, "Pairs"))


def test_the_slider_counts_what_a_threshold_cuts(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
    known = distances(with_source)
    app = open_page("diagnostics")
    assert app.slider(key="threshold").value == 60
    for threshold in (1, 12, 60):
        app.slider(key="threshold").set_value(threshold).run()
        cut = sum(value > threshold for value in known.values())
        assert f"{cut} of 21 variants" in texts(app)
        table = app.dataframe[0].value.set_index("Type")
        assert table.loc["All types", "Above"] == cut
        assert sum(table["Above"].tolist()[:-1]) == cut
    assert len(app.get("vega_lite_chart")) == 2


def test_the_scope_narrows_every_count(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
    app = open_page("diagnostics")
    app.session_state["types"] = ["verbal", "word"]
    app.slider(key="threshold").set_value(1).run()
    assert "6 of 6 variants (100.00%) are above a threshold of 1; 3 of them are pending." in texts(
        app
    )
    app.session_state["status"] = "Accepted"
    app.run()
    assert "3 of 3 variants (100.00%) are above a threshold of 1; 3 of them are pending." in texts(
        app
    )
    app.session_state["status"] = "Rejected"
    app.run()
    assert "No measured variant of these types has this status." in texts(app)


def test_a_threshold_can_be_kept(
    with_source: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(with_source) as session:
        fill(session)
    app = open_page("diagnostics")
    assert app.button(key="keep-threshold").disabled
    app.slider(key="threshold").set_value(20).run()
    app.button(key="keep-threshold").click().run()
    assert "The project's threshold is now 20." in texts(app)
    with reading(with_source) as session:
        assert get_setting(session, THRESHOLD) == 20
        assert [get_run(session, number).kind for number in started] == ["reorder"]
    assert app.button(key="keep-threshold").disabled


def test_variants_over_the_threshold_can_be_rejected_and_restored(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        fill(session)
    far = {key for key, value in distances(with_source).items() if value > 20}
    assert far
    app = sign_in(open_page("diagnostics"), with_source)
    app.slider(key="threshold").set_value(20).run()
    assert app.button(key="reject-over").disabled  # without a reason
    app.selectbox(key="threshold-reason").set_value("meaning_changed").run()
    app.button(key="reject-over").click().run()
    assert f"Rejected {len(far)} variants." in texts(app)
    assert rejected(with_source) == far
    assert "; none of them are pending." in texts(app)
    app.button(key="undo-threshold").click().run()
    assert f"Undid {len(far)} rejections." in texts(app)
    assert not rejected(with_source)
    assert f"; {len(far)} of them are pending." in texts(app)


def test_the_page_keeps_to_one_source(with_source: Engine, open_page: OpenPage) -> None:
    name = "Clocks and doors"  # a rule is split at "and"
    with writing(with_source) as session:
        fill(session)
        others = add_family(session, "The bridge over the old canal is safe.", source=name)
        measure_variants(session, [variant.id for variant in others.values()])
        ids = {variant.id for variant in others.values()}
    far = {key for key, value in distances(with_source).items() if value > 20 and key in ids}
    assert far
    app = sign_in(open_page("diagnostics"), with_source)
    assert app.selectbox(key="source").options == ["All sources", name, "test"]
    app.selectbox(key="source").select(name).run()
    app.slider(key="threshold").set_value(20).run()
    assert f"of {len(ids)} variants" in texts(app)
    app.selectbox(key="threshold-reason").set_value("meaning_changed").run()
    app.button(key="reject-over").click().run()
    assert rejected(with_source) == far


def rejected(engine: Engine) -> set[int | None]:
    with reading(engine) as session:
        query = select(Variant).where(Variant.status == Status.REJECTED)
        return {variant.id for variant in session.execute(query).scalars()}


def test_rejecting_needs_a_name(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
    app = open_page("diagnostics")
    app.slider(key="threshold").set_value(20).run()
    assert not [button for button in app.button if button.key == "reject-over"]
    assert any(field.label == "Your name" for field in app.text_input)


def test_flags_link_to_their_variants(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        variants = fill(session)
        for row in session.execute(select(Diagnostic)).scalars():
            flagged = row.variant_id in (variants[0].id, variants[1].id)
            row.flags = int(Flag.CONTENT_DROPPED if flagged else 0)
        variants[0].text = HOSTILE
    app = section(open_page("diagnostics"), "Flags")
    app.session_state["flag"] = "content dropped"
    app.run()
    assert "2 variants: content dropped." in texts(app)
    table = next(element.value for element in app.get("html") if "hg-found" in element.value)
    assert str(escape(HOSTILE)) in table
    assert "<img" not in table
    assert table.count("<td>content dropped</td>") == 2
    links = set(re.findall('href="(.*?)"', table))
    assert links == {f"review?variant={v.uid}" for v in variants[:2]}
    assert HOSTILE not in unsafe_texts(app)


def test_the_table_of_results_has_whole_sentences(with_source: Engine, open_page: OpenPage) -> None:
    long = "The bridge, " + "which nobody has ever seen from this side of the river, " * 6 + "fell."
    with writing(with_source) as session:
        fill(session)[0].text = long
        for row in session.execute(select(Diagnostic)).scalars():
            row.flags = int(Flag.CONTENT_DROPPED)
    app = section(open_page("diagnostics"), "Flags")
    app.session_state["flag"] = "content dropped"
    app.run()
    assert f'<span class="hg-text" dir="auto">{long}</span>' in "".join(
        str(element.value) for element in app.get("html")
    )


def test_pairs_count_all_variants_of_the_choice(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
    app = section(open_page("diagnostics"), "Pairs")
    assert "21 variants. The top left" in texts(app)
    assert "Drag over a region" in "".join(caption.value for caption in app.caption)
    app.session_state["types"] = ["word"]
    assert "3 variants. The top left" in texts(app.run())


def test_own_types_are_among_the_pairs(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
        wanted = OwnType(
            label="Denial",
            role="negation",
            definition="Denies the whole claim.",
            example_anchor="She sang.",
            example="It is false that she sang.",
        )
        mine = add_type(session, wanted)
        anchor = session.get_one(Anchor, 1)
        text = "It is false that bridge 0 is safe."
        variant = add_variant(session, anchor, mine.id, text).id
        measure_variants(session, [variant])
        save_cosines(session, {variant: 0.9}, encoder_id=1)
    app = section(open_page("diagnostics"), "Pairs")
    app.session_state["types"] = [mine.id]
    app.run()
    assert "1 variant. The top left" in texts(app)
    assert "Denial · 1" in texts(app)
    assert len(app.get("vega_lite_chart")) == 1


def test_cues_and_negators_are_listed_with_their_entropy(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        fill(session)
    shown = texts(section(open_page("diagnostics"), "Cues & negators"))
    assert "Hedge: single word: 1 cue, entropy 0.00 bits." in shown
    assert "Used: 1 of the 134 cues on the paper's list." in shown
    assert "Used: 1 of the 45 cues on the paper's list." in shown
    assert "Absolute negator: 1 negator, entropy 0.00 bits." in shown


def test_acceptance_agrees_with_the_database(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
    app = section(open_page("diagnostics"), "Acceptance")
    for by in ("Type", "Cue", "Genre", "Origin"):
        app.session_state["by"] = by
        app.run()
        assert not app.exception
        table = app.dataframe[0].value
        with reading(with_source) as session:
            found = acceptance.outcomes(session, Dimension(by.lower()))
        assert table["Decided"].sum() == sum(group.decided for group in found.values())
        assert table["Pending"].sum() == sum(group.pending for group in found.values())
        assert len(table) == len(found)
        assert "None of the selected variants is rejected." in texts(app)


def test_a_type_that_only_reviewers_wrote_is_named_below_the_acceptance(
    with_source: Engine, open_page: OpenPage
) -> None:
    label = HOSTILE[:40]
    with writing(with_source) as session:
        fill(session)
        wanted = OwnType(
            label=label,
            role="negation",
            definition="Denies the whole claim.",
            example_anchor="She sang.",
            example="It is false that she sang.",
        )
        mine = add_type(session, wanted)
        write_variant(
            session,
            anchor_id=1,
            type_id=mine.id,
            text="It is false that bridge 0 is safe.",
            cue=None,
            reviewer_id=person(session),
            action_id=str(uuid.uuid4()),
        )
    app = section(open_page("diagnostics"), "Acceptance")
    assert label not in app.dataframe[0].value["Group"].tolist()
    assert f"reviewers wrote all their variants: {label}." in texts(app)


def test_a_hostile_label_is_text_everywhere(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
        for wording in session.execute(select(TypeVersion)).scalars():
            wording.label = f"{HOSTILE} {wording.type_id}"
    app = open_page("diagnostics")
    for name in ("Distances", "Pairs", "Flags", "Cues & negators", "Acceptance"):
        section(app, name)
        assert not app.exception
        assert "**bold**" not in unsafe_texts(app), name


def test_the_page_of_a_large_project_appears_before_the_counts(
    with_source: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(with_source) as session:
        fill(session)
    app = open_page("diagnostics")
    monkeypatch.setattr(count_cache, "AT_ONCE", 0)
    for name in ("Distances", "Pairs", "Flags", "Cues & negators", "Acceptance"):
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


def test_the_starter_corpus_has_its_acceptance(loaded_home: Path, open_page: OpenPage) -> None:
    app = section(open_page("diagnostics"), "Acceptance")
    table = app.dataframe[0].value.set_index("Group")
    assert table.loc["Hedge: phrase", "Edited"] > 500
    assert table["Accepted"].sum() + table["Edited"].sum() == 8337
