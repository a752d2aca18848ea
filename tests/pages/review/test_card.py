"""What opens on a card of the review page: editors, opinions, keys, searches, similar variants."""

import re

import numpy as np
import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.anchors.search import Hit, SearchKind
from curation.decisions.notes import add_note
from curation.editing.anchors import correct_anchor
from curation.encoders.registered import register_encoder
from curation.project.settings import ACTIVE_ENCODER, get_setting
from curation.review.browser_window.key_actions import ReviewState
from curation.similar import NONE_SIMILAR, StoredEmbeddings
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import OpinionLook, Run, RunState, Status, Variant, Verdict
from db.settings import load_settings
from pages.components.review import search_box
from pages.components.review.search_box import hit_markup
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import (
    html,
    in_dialog,
    keyboard,
    keys,
    named,
    options,
    page_text,
    press,
    put,
    received,
    search,
    strike,
)
from tests.support.factories import (
    TEXTS,
    add_anchor,
    add_family,
    add_opinion,
    add_variant,
    judge,
    person,
)

FLAGGED = "The bridge is unsafe, they say."
HOSTILE = "**Not** <img src=x onerror=alert(1)> $x$ <b>safe</b> **here**."
ASKED = "hg-asked"


@pytest.fixture
def family(signed_in: None, with_source: Engine) -> Engine:
    """One family."""
    with writing(with_source) as session:
        add_family(session)
        person(session)
    return with_source


def write(app: AppTest, text: str) -> AppTest:
    return put(app, "text_area", "text-", text)


def checks(app: AppTest) -> int:
    """The number of sentences about what somebody writes."""
    found = re.search('class="hg-checks[^>]*>(.*?)</div></div>', html(app), re.DOTALL)
    return found[1].count("<div>") if found else 0


def cue(app: AppTest) -> str | None:
    """The contents of the field for the cue, if there is one."""
    found: list[str] = [field.value for field in app.text_input if field.label == "Hedge cue"]
    return found[0] if found else None


def stored(engine: Engine) -> list[tuple[str, str, str | None]]:
    """Type, text and cue of the variants that were added to the family."""
    with reading(engine) as session:
        query = select(Variant).where(col(Variant.id) > len(TEXTS)).order_by(col(Variant.id))
        return [(v.type_id, v.text, v.cue) for v in session.execute(query).scalars()]


def by_uid(engine: Engine, uid: str) -> Variant:
    with reading(engine) as session:
        return session.execute(select(Variant).where(col(Variant.uid) == uid)).scalar_one()


@pytest.mark.parametrize("key", ["e-", "w-"])
def test_flags_are_shown_while_typing_and_each_needs_one_confirmation(
    family: Engine, open_page: OpenPage, wording: Wording, key: str
) -> None:
    app = press(open_page("review", type="Verbal negation"), key)
    assert not checks(app)
    wording(app, "review", f"editor {key[0]}")
    assert checks(write(app, FLAGGED)) == 1 and ASKED not in html(app)
    press(app, "save-")
    assert ASKED in html(app) and stored(family) == []
    write(app, "The bridge is unsafe!")  # another kind of flag: the words of a sibling
    press(app, "save-")
    assert ASKED in html(app) and stored(family) == []
    press(app, "save-")
    assert stored(family) == [("verbal", "The bridge is unsafe!", None)]


def test_a_text_that_exists_leads_to_its_card(family: Engine, open_page: OpenPage) -> None:
    for key, verdict in (("w-", None), ("e-", Status.ACCEPTED)):
        app = press(open_page("review", type="Verbal negation"), key)
        write(put(app, "selectbox", "type-", "affixal"), TEXTS["affixal"])
        press(app, "save-")
        assert any(name.startswith("that-3-") for name in keys(app)) and stored(family) == []
        if verdict is None:  # one's own variant is refused
            press(app, "that-3-")
            assert app.session_state["review"].focus_id == 3 and not app.text_area
            continue
        press(app, "save-")  # an edit accepts the sibling
        with reading(family) as session:
            found = [session.get_one(Variant, number).status for number in (1, 3)]
        assert found == [Status.SUPERSEDED, verdict] and stored(family) == []


def test_blind_mode_shows_the_checks_of_an_edit_only_afterwards(
    family: Engine, open_page: OpenPage
) -> None:
    app = press(open_page("review", type="Verbal negation", blind="1"), "e-")
    assert not checks(write(app, FLAGGED))
    press(app, "save-")
    assert stored(family) == [("verbal", FLAGGED, None)]
    assert "Flagged: wrong surface form" in html(app)


@pytest.mark.parametrize(
    ("text", "proposed", "saved"),
    [
        (
            "It's not at all clear if the bridge is safe.",
            "not at all clear",
            ("phrase", "not at all clear"),
        ),
        ("Perhaps the bridge is safe.", "", ("word", "perhaps")),  # asked for, with a proposal
    ],
)
def test_an_edit_without_its_cue_stores_the_one_in_the_text(
    family: Engine, open_page: OpenPage, text: str, proposed: str, saved: tuple[str, str]
) -> None:
    app = press(open_page("review", type="Hedge: phrase"), "e-")
    assert cue(app) == "not entirely sure"
    assert checks(write(app, text)) == (not proposed)
    assert not proposed or any(proposed in caption.value for caption in app.caption)
    press(app, "save-")
    if not proposed:
        assert stored(family) == [] and cue(app) == saved[1]
        press(app, "save-")
    assert stored(family) == [(saved[0], text, saved[1])]


def test_changing_the_type_to_a_hedge_opens_the_editor_at_its_cue(
    family: Engine, open_page: OpenPage
) -> None:
    app = press(open_page("review", type="Verbal negation"), "t-")
    press(app, "retype-word-")
    assert named(app, "selectbox", "type-").value == "word"
    assert "cue" in app.session_state["review"].message
    put(app, "text_input", "Hedge cue", "safe")
    press(app, "save-")  # the surface check of hedges allows no new negator
    press(app, "save-")
    assert stored(family) == [("word", TEXTS["verbal"], "safe")]


def test_the_cue_field_follows_the_text_until_a_cue_is_entered(
    family: Engine, open_page: OpenPage
) -> None:
    app = press(open_page("review", type="Verbal negation"), "w-")
    assert cue(app) is None
    put(app, "selectbox", "type-", "word")
    # Without a known cue, and with the words of a sibling.
    assert checks(write(app, "The bridge is unsafe!")) == 2 and cue(app) == ""
    for word in ("probably", "possibly"):
        assert cue(write(app, f"The bridge is {word} quite safe.")) == word
    put(app, "text_input", "Hedge cue", "bridge")
    assert cue(write(app, "The bridge is probably quite safe.")) == "bridge"
    for leave, there in (("cancel-", ("word", "bridge")), ("discard-", ("verbal", None))):
        press(press(app, leave), "w-")  # a closed editor keeps its draft until discarded
        assert (named(app, "selectbox", "type-").value, cue(app)) == there
    write(put(app, "selectbox", "type-", "word"), "The bridge seems safe.")
    press(app, "save-")
    assert stored(family) == [("word", "The bridge seems safe.", "seem")]


def test_a_second_opinion_is_shown_on_demand_until_the_card_changes(
    family: Engine, open_page: OpenPage
) -> None:
    app = open_page("review")
    assert not [key for key in keys(app) if key.startswith("j-")]
    assert "Doubtful" not in options(app, "order")
    with writing(family) as session:
        variant = add_family(session, "The road is safe.", subject="road")["verbal"]
        by = judge(session, HOSTILE)
        add_opinion(session, variant, Verdict.EDIT, reviewer_id=by, suggestion=HOSTILE)
        number, uid = variant.id, variant.uid
    app = open_page("review", variant=uid)
    assert "Doubtful" in options(app, "order")
    opinion, stated = 'aria-label="Second opinion"', "stated confidence 80%"
    assert uid in html(app) and opinion not in html(app)
    press(press(app, "j-"), "g-")
    assert html(app).count(opinion) == 1 and stated in html(app) and "&lt;img" in html(app)
    assert HOSTILE not in unsafe_texts(app)
    with reading(family) as session:
        looked = session.execute(select(func.count()).select_from(OpinionLook)).scalar_one()
    assert looked == 1
    press(app, "Blind")
    assert opinion not in html(app)
    assert opinion not in html(press(app, "j-"))  # a blind reviewer decides first
    assert opinion in html(press(press(app, "Not blind"), "j-"))
    press(app, "Edit from this suggestion")
    assert [box.value for box in app.text_area] == [HOSTILE]
    assert HOSTILE not in unsafe_texts(app)
    assert by_uid(family, uid).status is Status.PENDING  # an edit only once it is saved
    assert press(app, "discard-").session_state["review"].suggested is None
    press(app, "j-")
    with writing(family) as session:
        corrected, ada = session.get_one(Variant, number).anchor_id, person(session)
        text = "The old road is safe."
        correct_anchor(session, corrected, text, reviewer_id=ada, expected_revision=1)
    assert text in re.sub("<[^>]+>", "", html(app.run())) and opinion not in html(app)


# Keys are pressed like the browser presses them.


@pytest.fixture
def three(signed_in: None, with_source: Engine) -> Engine:
    """Three families."""
    with writing(with_source) as session:
        for number in range(3):
            add_family(session, f"The bridge number {number} is safe.")
    return with_source


def test_five_rapid_presses_decide_the_one_card_that_the_browser_shows(
    three: Engine, open_page: OpenPage
) -> None:
    app = open_page("review")
    first, component = received(app), keyboard(app).id
    assert by_uid(three, first["variant"]).version == first["version"]
    assert first["keys"]["a"] == first["keys"]["1"] == first["keys"]["s"] == "card"
    assert first["keys"]["e"] == first["keys"]["0"] == "writes"
    assert first["keys"]["z"] == first["keys"]["shift+u"] == "plain"
    second = strike(app, *"aaaaa")
    assert second["answered"] == 5 and keyboard(app).id == component  # not mounted again
    assert by_uid(three, first["variant"]).status is Status.ACCEPTED
    assert by_uid(three, second["variant"]).status is Status.PENDING
    assert len(app.session_state["review"].recent) == 1


def test_no_key_acts_while_an_editor_is_open(three: Engine, open_page: OpenPage) -> None:
    app = open_page("review")
    before = received(app)["variant"]
    data = strike(app, "e", "a", "1", "z")  # as fast as they are typed
    assert data["variant"] == before
    assert {*data["keys"]} <= {*"uqov", *(f"shift+{letter}" for letter in "uqov")}
    after = strike(app, "a", "u")
    assert (after["variant"], after["keys"]) == (before, data["keys"])


def test_letters_step_through_the_choices_and_h_lists_the_keys(
    three: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page("review")
    for key, name, value in (
        ("q", "type", "Absolute negator"),
        ("shift+q", "type", "Verbal negation"),
        ("v", "view", "Family"),
        ("shift+u", "queue", "Second look"),
    ):
        strike(app, key)
        assert app.query_params[name] == value
    strike(app, "u")
    strike(app, "h")
    assert "J" not in list(app.table[0].value["Key"]) and "j" not in received(app)["keys"]
    with writing(three) as session:
        add_opinion(session, session.get_one(Variant, 1), reviewer_id=judge(session))
    app.run()
    assert "J" in list(app.table[0].value["Key"]) and "j" in received(app)["keys"]

    def fail(_: ReviewState) -> None:
        raise HedgerowError("No **room**.")

    monkeypatch.setattr(ReviewState, "undo", fail)
    strike(app.run(), "z")
    assert "No **room**." in [text.value for text in app.text]


@pytest.fixture
def uids(with_source: Engine) -> dict[str, str]:
    """The uids of a family by type, one variant with a note, and a hostile text as 'hostile'."""
    with writing(with_source) as session:
        variants = add_family(session)
        note = "See the BRÜCKE."
        add_note(session, variants["word"].id, reviewer_id=person(session), text=note)
        hostile = add_variant(session, add_anchor(session, "It is safe here."), text=HOSTILE)
        return {key: variant.uid for key, variant in variants.items()} | {"hostile": hostile.uid}


def test_a_search_marks_its_hits_and_opens_their_cards(
    uids: dict[str, str], wording: Wording
) -> None:
    app = in_dialog("search")
    found = search(app, "UNSAFE")
    assert '<mark class="hg-match">unsafe</mark>' in found
    assert "Affixal negation · pending" in found
    wording(app, "review", "a search")
    press(app, "hit-0")
    assert f"opened: {uids['affixal']}" in page_text(app)
    search(app, "dangerous")
    assert named(app, "button", "review-found").label.endswith(" 2")
    found = search(app, "<b>")
    assert '<mark class="hg-match">&lt;b&gt;</mark>safe&lt;/b&gt; **here**' in found
    app.button_group("search-in").set_value(SearchKind.NOTES)
    found = search(app, "brücke")
    assert '<mark class="hg-match">BRÜCKE</mark>' in found and TEXTS["word"] in found
    press(app, "hit-0")
    assert f"opened: {uids['word']}" in page_text(app)
    hit = hit_markup(Hit(SearchKind.NOTES, "<i>", "0" * 16, about="<u>"), "i", facts="<u>")
    assert "<i>" not in hit and "<u>" not in hit
    app = in_dialog("search", blind=True)  # without notes and verdicts
    found = search(app, "safe")
    assert options(app, "search-in") == ["Variants", "Anchors"]
    assert "hg-hit" in found and "· pending" not in found


def test_similar_variants_are_found_once_their_embeddings_are_computed(
    uids: dict[str, str],
    with_source: Engine,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    app = in_dialog("similar")
    wording(app, "review", "similar variants: no embeddings")
    press(app, "compute-embeddings")
    assert len(started) == 1 and "compute-embeddings" not in keys(app)
    assert str(started[0]) in app.get("progress")[0].proto.text
    with writing(with_source) as session:
        session.get_one(Run, started[0]).state = RunState.DONE
        name = get_setting(session, ACTIVE_ENCODER)
        fingerprint = register_encoder(session, name=name, hash_="f" * 64).fingerprint
    vectors = np.tile(np.array([0.6, 0.8], np.float32), (len(uids), 1))
    StoredEmbeddings(load_settings().data_folder, fingerprint).append(list(uids.values()), vectors)
    app = in_dialog("similar")
    assert "cosine 1.00" in html(app) and "&lt;b&gt;safe&lt;/b&gt; **here**." in html(app)
    assert "pending" in html(app)
    assert "pending" not in html(in_dialog("similar", blind=True))
    assert named(app, "button", "review-similar").label.endswith(" 1")
    for low, said in ((-1.0, False), (2.0, True)):
        monkeypatch.setattr(search_box, "LOW_COSINE", low)
        assert (NONE_SIMILAR in [one.value for one in app.run().caption]) == said
    press(app, "hit-0")
    assert f"opened: {uids['hostile']}" in page_text(app)
