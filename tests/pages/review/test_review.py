"""The review page without a browser: its queues, sources and selections, and what a card shows."""

import re

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.corpora.corpus import CORPORA
from curation.decisions.notes import add_note
from curation.editing.anchors import correct_anchor
from curation.editing.own_types import add_type
from curation.review import deciding
from curation.review.browser_window.selection import VariantSelection
from db.engine import reading, writing
from db.models import Status, Variant
from pages.components.shared import links as picked_variants
from pages.components.shared.formatting import plain
from tests.curation.support.own_types import NEGATION
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import drawn, html, keys, links, options, page_text, press
from tests.support.factories import add_anchor, add_family, add_variant, model, person

HOSTILE = "**a brush** <img src=x onerror=alert(1)> $x$"
CORPUS = CORPORA["claims"].source


@pytest.fixture
def ids(signed_in: None, with_source: Engine) -> list[int]:
    """The verbal variants of three families."""
    with writing(with_source) as session:
        for number in range(3):
            add_family(session, f"The bridge number {number} is safe.")
        person(session)
        query = select(col(Variant.id)).where(col(Variant.type_id) == "verbal")
        return list(session.execute(query).scalars())


def accept(engine: Engine, *ids: int, by: str = "Ada") -> None:
    with writing(engine) as session:
        for number in ids:
            card = deciding.shown(session.get_one(Variant, number))
            deciding.accept(session, card, reviewer_id=person(session, by))


def uid_of(engine: Engine, number: int) -> str:
    with reading(engine) as session:
        return session.get_one(Variant, number).uid


def first_card(app: AppTest) -> str:
    assert not app.exception
    return re.findall(r'<article class="hg-card" data-variant="(\w+)"', html(app))[0]


def in_progress(app: AppTest) -> list[str]:
    """The types marked in the bars of progress."""
    return re.findall(r'class="hg-current"><div>([^<]*)<', html(app))


def test_a_selection_replaces_the_queue_until_it_is_left(
    ids: list[int], with_source: Engine, open_page: OpenPage
) -> None:
    accept(with_source, ids[1], by="Bert")
    with reading(with_source) as session:
        query = select(col(Variant.id)).where(col(Variant.type_id) == "word")
        hedges = list(session.execute(query).scalars())
    kept = picked_variants._kept()
    kept["picked"] = VariantSelection((ids[2], ids[1], ids[0]), HOSTILE)
    kept["hedges"] = VariantSelection(tuple(hedges), "hedges")
    assert in_progress(open_page("review", selection="hedges")) == ["Hedge: single word"]
    app = open_page("review", selection="picked")
    (left,) = [text.value for text in app.text if HOSTILE in text.value]
    assert left.startswith("2 of 3 left")  # Bert has decided one
    assert first_card(app) == uid_of(with_source, ids[2])
    assert HOSTILE not in unsafe_texts(app)
    press(app, "Leave the selection")
    assert "Verbal negation" in options(app, "type")
    assert picked_variants.SELECTION not in app.query_params
    for more in ({}, {"view": "Family"}):
        app = open_page("review", selection="gone", type="All types", **more)
        assert "hg-card" in html(app) and "This selection" in html(app)


@pytest.mark.parametrize(
    ("queue", "siblings"),
    [({"type": "Hedge: single word"}, 0), ({"order": "Random", "view": "Family"}, 7)],
)
def test_a_permalink_opens_its_variant_in_the_queue_named_in_the_url(
    ids: list[int],
    with_source: Engine,
    open_page: OpenPage,
    queue: dict[str, str],
    siblings: int,
) -> None:
    address = {"variant": uid_of(with_source, ids[2]), **queue}
    app = open_page("review", **address)
    assert first_card(app) == address["variant"]
    assert html(app).count('<article class="hg-card hg-line') == siblings
    assert {key: app.query_params[key] for key in address} == address


def test_queues_open_by_their_names_with_all_types(
    ids: list[int], with_source: Engine, open_page: OpenPage
) -> None:
    accept(with_source, ids[0])
    with writing(with_source) as session:
        variant, text = session.get_one(Variant, ids[0]), "The bridges number 0 are safe."
        ada = person(session)
        correct_anchor(session, variant.anchor_id, text, reviewer_id=ada, expected_revision=1)
        other = session.get_one(Variant, ids[1])
        lexical = select(Variant).where(
            col(Variant.anchor_id) == other.anchor_id, col(Variant.type_id) == "lexical"
        )
        by_model = session.execute(lexical).scalar_one()
        deciding.accept(session, deciding.shown(by_model), reviewer_id=model(session))
        uid = by_model.uid
    app = open_page("review", type="Second look (7)")  # an old address
    assert first_card(app) == uid_of(with_source, ids[0])
    assert app.query_params["queue"] == "Second look"
    app = open_page("review", queue="Accepted by a model only")
    assert first_card(app) == uid
    assert in_progress(app) == ["Lexical negation"]
    for place, number in enumerate((20, 0, 1, 1), start=1):
        entry = f'.st-key-queue [role="radio"]:nth-of-type({place})'
        assert f'{entry}::after{{content:"{number}"}}' in drawn(app, "html")
    assert '.st-key-menu-queue .hg-open i::after{content:"1"}' in drawn(app, "html")


def test_cards_on_other_screens_are_reported_and_appear_once_released(
    ids: list[int], open_page: OpenPage
) -> None:
    others = [open_page("review", type="Verbal negation") for _ in ids]
    app = open_page("review", type="Verbal negation")
    assert "hg-card" not in html(app) and any("3 " in text.value for text in app.markdown)
    left = first_card(others[1])
    others[1].switch_page("pages/overview.py").run()
    assert first_card(press(app, "Check again")) == left


def test_a_card_in_conflict_names_the_verdicts_and_its_buttons_settle(
    ids: list[int], with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(with_source) as session:
        variant = session.get_one(Variant, ids[0])
        deciding.accept(session, deciding.shown(variant), reviewer_id=person(session, "Bert"))
        cleo = person(session, "Cleo")
        deciding.reject(session, deciding.shown(variant), reviewer_id=cleo, reason="wrong_type")
    app = open_page("review", queue="In conflict")
    assert "Bert accepted it. Cleo rejected it (wrong type)." in html(app)
    wording(app, "review", "a card in conflict")
    press(app, "a-")
    with reading(with_source) as session:
        assert session.get_one(Variant, ids[0]).status == Status.ACCEPTED
    for queue in ("In conflict", "Accepted by a model only", "Second look"):
        app = open_page("review", queue=queue)
        assert "hg-card" not in html(app)
        wording(app, "review", f"nothing left: {queue}")
    assert first_card(press(app, "n-go-on"))  # pending variants


def test_a_project_without_variants_links_to_the_overview_until_there_are_some(
    signed_in: None, with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("review")
    wording(app, "review", "no variants")
    assert links(app) == ["Go to Overview"]
    assert not {"z-empty", "n-key", "g-key"} & keys(app)
    with writing(with_source) as session:
        add_family(session)
    assert first_card(app.run())
    assert "1 of 1 left" in html(app)


def test_a_card_has_its_guideline_and_the_progress_of_every_type(
    ids: list[int], open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("review")
    wording(app, "review", "a card")
    now = html(app)
    assert "Verbal negation</div><div>3 of 3 left" in now
    assert "of 0 left" not in now and "Affirmation</div>" not in now  # it has no variants
    assert "Sibling:" not in now  # compared with its anchor
    assert "do-support" in now.lower()
    assert "do-support" not in html(press(app, "i-")).lower()
    blind = open_page("review", blind="1")
    assert options(blind, "order") == ["Oldest", "Random"]  # which reveal nothing
    chip = "Hidden until you have decided"
    assert chip in html(blind) and chip not in now


def test_a_finished_queue_leads_on_until_all_is_decided(
    ids: list[int], with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    accept(with_source, *ids)
    app = open_page("review", queue="Pending", type="Verbal negation")
    wording(app, "review", "a finished type")
    assert first_card(press(app, "Absolute negator (3)"))
    with reading(with_source) as session:
        rest = select(col(Variant.id)).where(col(Variant.status) == Status.PENDING)
        accept(with_source, *session.execute(rest).scalars())
    app = open_page("review")
    assert html(app).count('class="hg-progress"') == 1
    wording(app, "review", "all is decided")


def test_a_reason_is_offered_only_for_types_it_applies_to(
    ids: list[int], open_page: OpenPage
) -> None:
    for name, some in (("Verbal negation", True), ("Hedge: single word", False)):
        app = open_page("review", type=name)
        offered = {b.label for b in app.button if re.match(r"[0-8]-", b.key or "")}
        assert ("Not contradictory" in offered, "Not a hedge" in offered) == (some, not some)
        if some:
            state = app.session_state["review"]
            state.keyboard.keys["8"].act()
            assert state.warn and "hedges" in state.message


def test_types_beyond_the_ninth_have_a_digit_on_the_next_page(
    ids: list[int], with_source: Engine, open_page: OpenPage
) -> None:
    own = [f"**Own** <img> {number}" for number in range(4)]
    app = open_page("review", type="Verbal negation")
    with writing(with_source) as session:  # the newest ones are there at once
        added = [add_type(session, NEGATION.model_copy(update={"label": label})) for label in own]
    assert options(app.run(), "type")[-5:] == [*map(plain, own), "All types"]
    press(app, "t-")
    assert len([key for key in keys(app) if key.startswith("retype-")]) == 10
    press(app, "retype-more")
    retype = [b for b in app.button if (b.key or "").startswith("retype-")]
    assert [b.label for b in retype][-5:] == [*map(plain, own), "More types"]
    assert "**Own**" not in unsafe_texts(app) + "".join(b.help for b in retype)
    bound = app.session_state["review"].keyboard.keys
    assert set("0123456") == {key for key in bound if key.isdigit()}
    press(app, plain(own[-1]))
    with reading(with_source) as session:
        query = select(col(Variant.type_id)).where(col(Variant.parent_id) == ids[0])
        assert session.execute(query).scalar() == added[-1].id


def test_a_retracted_note_is_in_the_history_without_its_text(
    ids: list[int], with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        ada = person(session)
        add_note(session, ids[0], reviewer_id=ada, text="A slip of the pen.")
        deciding.undo(session, reviewer_id=ada)
    found = page_text(press(open_page("review", type="Verbal negation"), "g-"))
    assert "· Ada · note · (removed)" in found and "slip" not in found


def test_a_source_can_be_chosen_if_there_are_several(
    ids: list[int], with_source: Engine, open_page: OpenPage
) -> None:
    app = open_page("review")
    assert "queue-source" not in [element.key for element in app.get("button_group")]
    with writing(with_source) as session:
        its = add_family(session, "The door is safe.", source=CORPUS)
        anchor = add_anchor(session, "The door is open.", source=HOSTILE)
        hostile = add_variant(session, anchor, "lexical", "The door is shut.").uid
        uid, family = its["verbal"].uid, [variant.id for variant in its.values()]
    app = open_page("review")
    assert options(app, "queue-source") == ["All sources", plain(HOSTILE), "test", CORPUS]
    assert HOSTILE not in unsafe_texts(app)
    app = open_page("review", **{"queue-source": CORPUS})
    assert first_card(app) == uid
    entry = '.st-key-queue-source [role="radio"]:nth-of-type(1)::after{content:"4"}'
    menu = '.st-key-menu-queue-source .hg-open i::after{content:"1"}'
    assert entry in drawn(app, "html") and menu in drawn(app, "html")
    only = {"queue": "Pending", "type": "Verbal negation", "queue-source": plain(HOSTILE)}
    app = open_page("review", **only)  # a source without this type says which types it has
    assert HOSTILE in page_text(app)
    offered = [b.label for b in app.button if "go-on" in str(b.key)]
    assert offered == ["Lexical negation (1)", "This type in all sources (4)"]
    assert first_card(press(app, "n-go-on")) == hostile
    accept(with_source, *family)  # a finished one leads to the others
    app = open_page("review", **only | {"type": "All types", "queue-source": CORPUS})
    assert first_card(press(app, "Review all sources"))


PASSAGE = (
    "Seventy years of harbour life are on show in a converted rope store on the north quay. "
    "Visitors are {} to photograph the objects for their own use. Admission is reduced for "
    "students and for holders of the city card."
)


def test_a_passage_is_compared_with_the_sibling_it_differs_from(
    signed_in: None, with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        anchor = add_anchor(session, "I want a museum where I can take pictures.")
        add_variant(session, anchor, "affirmation", "A museum that lets you take pictures.")
        add_variant(session, anchor, "affirmation", PASSAGE.format("free"))
        add_variant(session, anchor, "free_hedge", PASSAGE.format("probably not free"))
        passage = add_variant(session, anchor, "free_contradiction", PASSAGE.format("not free"))
        uid = passage.uid
    app = open_page("review", variant=uid)
    assert first_card(app) == uid
    now = html(app).split("</article>")[0]
    assert '<span class="hg-label">Sibling: Affirmation</span>' in now
    negator = '<mark class="hg-negator" title="negator">not</mark>'
    assert re.findall("<ins>(.*?)</ins>", now) == [negator]
