"""A team: a conflict, cards on three screens, signing in, and days on which the server fails."""

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from oidc_provider_mock import User, run_server_in_thread
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine

from curation.decisions.assignment_progress import assign
from curation.decisions.quotas import set_quota
from curation.review import deciding
from db.engine import writing
from db.models import Verdict
from tests.browser.conftest import Share
from tests.browser.support.app import App
from tests.browser.support.chromium import Chromium
from tests.browser.support.pages import (
    card,
    come,
    confirm,
    editor,
    eventually,
    go,
    gone,
    key,
    press,
    rows,
    said,
    see,
    settle,
    shown,
    shows,
    visit,
)
from tests.support.checkout import ROOT
from tests.support.factories import add_opinion, engine_of, judge, person

STATUS = "SELECT status FROM variant WHERE uid = ?"
GIVEN = """
SELECT name, verdict, adjudicates FROM decision d JOIN reviewer r ON r.id = reviewer_id
JOIN variant v ON v.id = variant_id WHERE uid = ? ORDER BY d.id
"""
SAID = "SELECT verdict, blind FROM decision JOIN variant ON variant.id = variant_id WHERE uid = ?"
SUGGESTION = "It isn't <img src=x onerror='document.body.innerHTML=1'> **safe**."

LEAD, VIEWER = "subject-of-ana", "subject-of-vic"
SECRET = "never-in-a-log-or-a-page-and-long-enough-to-sign"

DECIDED = """SELECT v.uid, r.name, d.verdict FROM decision d JOIN variant v ON v.id = d.variant_id
JOIN reviewer r ON r.id = d.reviewer_id ORDER BY d.id"""
DRAFTS = "SELECT count(*) FROM draft WHERE fields LIKE '%far from%'"
BEGUN, ENDED = "The bridge is far from", "The bridge is far from safe."

KILLS = ((20, "e", "New wording"), (130, "x1", "Note"))
"""Milliseconds from a key press to the end of the server: while or after the decision is stored.
And the keys and the name of a field in which somebody else is writing."""

PRESSED = """() => {
  window.pressed = [];
  window.addEventListener("keydown",
    () => window.pressed.push(document.querySelector("article.hg-card").dataset.variant), true);
}"""
"""Record which card was shown at each key press. A query before the press may see another card."""


def test_a_conflict_and_its_settlement(
    project: Engine, home: Path, share: Share, page: Page, other: Page, chromium: Chromium
) -> None:
    address = share(home)
    with chromium.page() as third:
        uid = disagree(page, other, home, address)
        settle_by_keys(page, third, home, address, uid)
    ask_a_model(project, page, home, address)


def disagree(ada: Page, bert: Page, home: Path, address: str) -> str:
    """Both see one card, by a permalink. Each hears of the other's verdict."""
    uid = come(ada, address)
    assert come(bert, address, f"/review?variant={uid}", name="Bert") == uid
    expect(said(bert)).to_contain_text("Ada also has this card")
    press(ada, "a")
    bert.keyboard.press("1")
    expect(said(bert)).to_contain_text("Ada had accepted it")
    assert rows(home, GIVEN, uid) == [("Ada", "accept", 0), ("Bert", "reject", 0)]
    ada.keyboard.press("g")
    expect(said(ada)).to_contain_text("(wrong type) after you")
    assert come(ada, address, f"/review?variant={uid}") == uid
    expect(card(ada)).to_contain_text("Ada accepted it. Bert rejected it (wrong type)")
    return uid


def settle_by_keys(ada: Page, lea: Page, home: Path, address: str, uid: str) -> None:
    """A lead takes the card when nobody has it on screen. Keys are text while the lead types."""
    visit(lea, address, "/adjudicate", name="Lea")
    check = lea.get_by_role("button", name="Check again")  # Ada has the card on screen
    see(check)
    gone(card(lea))
    go(ada, f"{address}/adjudicate")
    ada.get_by_role("radio", name="Settled").click()  # leaves the conflict to others
    see(ada.get_by_text("No conflict has been settled"))
    check.click()
    shows(lea, uid)
    key(lea, "x")
    write(lea, "4", "Note", "asz")
    eventually(lea, lambda: rows(home, STATUS, uid) == [("rejected",)])
    lea.keyboard.press("z")
    eventually(lea, lambda: rows(home, STATUS, uid) == [("conflict",)])
    settle(lea)
    write(lea, "d", "What do you want to discuss? (optional)", "all of it")
    assert rows(home, "SELECT kind, remark FROM discuss_mark") == [("mark", "all of it")]
    lea.keyboard.press("2")
    eventually(lea, lambda: rows(home, STATUS, uid) == [("rejected",)])
    assert rows(home, GIVEN, uid)[-1] == ("Lea", "reject", 1)
    ada.get_by_role("radio", name="In conflict").click()
    see(ada.get_by_text("No variant is in conflict"))
    ada.get_by_role("radio", name="Settled").click()
    expect(ada.locator(".hg-trail")).to_contain_text(re.compile("Lea.*not contradictory", re.S))


def write(page: Page, letter: str, label: str, text: str) -> None:
    box = editor(page, letter, label)
    page.keyboard.type(text)
    expect(box).to_have_value(text)
    page.keyboard.press("Control+Enter")
    gone(box)


def ask_a_model(project: Engine, page: Page, home: Path, address: str) -> None:
    """A key shows its opinion. Its suggestion becomes the person's edit."""
    ((uid,),) = rows(home, "SELECT uid FROM variant WHERE type_id = 'lexical' LIMIT 1 OFFSET 5")
    with writing(project) as session:
        variant, who = deciding.find_variant(session, str(uid)), judge(session, "<b>judge</b>")
        add_opinion(session, variant, Verdict.EDIT, reviewer_id=who, suggestion=SUGGESTION)
    assert come(page, address, "/review?type=Lexical+negation&order=Doubtful") == uid
    key(page, "j")
    expect(page.locator(".st-key-opinions")).to_be_in_viewport()
    page.get_by_role("button", name="Edit from this suggestion").click()
    box = page.get_by_label("New wording, from the second opinion")
    expect(box).to_be_focused()
    expect(box).to_have_value(SUGGESTION)
    confirm(page)
    kept = f"SELECT status FROM variant WHERE text LIKE '%onerror%' OR uid = '{uid}'"
    assert sorted(rows(home, kept)) == [("accepted",), ("superseded",)]
    gone(page.locator("img[src=x]"))


def test_a_team_of_three(
    project: Engine, home: Path, share: Share, page: Page, other: Page, chromium: Chromium
) -> None:
    address = share(home)
    keep_cards_apart(page, other, chromium, home, address)
    decide_shared_variants(project, page, other, home, address)


def keep_cards_apart(page: Page, other: Page, chromium: Chromium, home: Path, address: str) -> None:
    """No card is on two screens, also not on those of one person. A window that is closed or left
    releases its card, but not one that reloads."""
    with chromium.page() as third:
        windows = page, other, third
        for window, name in zip(windows, ("Ada", "Ada", "Bert"), strict=True):
            come(window, address, name=name)
        for _ in range(2):
            for window in windows:
                press(window, "a")
                assert len({shown(one) for one in windows}) == 3
        count = "SELECT count(*), count(DISTINCT variant_id) FROM decision"
        assert rows(home, count) == [(6, 6)]
        left, abandoned = shown(page), shown(third)
    with chromium.page() as third:  # the server learns a moment later that a browser has gone
        again = third.context.clear_cookies  # otherwise, the window would keep its card
        eventually(third, lambda: again() or come(third, address, name="Lea") == abandoned)
        page.reload()
        shows(page, left)
        for window in (page, other):
            window.get_by_role("link", name="Settings").click()
            see(window.get_by_role("heading", name="Settings").first)
        other.get_by_role("link", name="Review").click()
        shows(other, left)  # you have left it to others


def decide_shared_variants(
    project: Engine, page: Page, other: Page, home: Path, address: str
) -> None:
    """Both are blind until they have decided."""
    with writing(project) as session:
        assign(engine_of(session), reviewers=2, share=1)
        set_quota(session, person(session, "Lea"), 1)
    place = "/review?type=Absolute+negator"
    other.goto("about:blank")
    uid = come(page, address, place)
    see(card(page).get_by_text("blind", exact=True))
    press(page, "4")
    assert rows(home, SAID, uid) == [("reject", 1)]
    visit(page, address, "/adjudicate")
    gone(card(page))
    assert come(other, address, place, name="Lea") == uid
    see(card(other).get_by_text("blind", exact=True), other.get_by_text("0 of 1"))
    key(other, "g")
    see(other.get_by_text("Hidden until you have decided.").first)
    gone(other.get_by_text("rejected"))
    other.keyboard.press("a")
    see(other.get_by_text("Ada rejected it"), other.get_by_text("reached your quota"))
    assert rows(home, SAID, uid) == [("reject", 1), ("accept", 1)]
    assert come(page, address, "/adjudicate") == uid
    expect(page.locator(".stMain")).to_contain_text("Lea")


@pytest.fixture
def secured(project: Engine, home: Path) -> Iterator[str]:
    """The address of an app that requires signing in, with a provider that knows two people with
    the same name. The settings are those of the guide's example."""
    people = [
        User(sub=subject, claims={"name": "Ana Ruiz", "email": email, "email_verified": True})
        for subject, email in ((LEAD, "ana@uni.example"), (VIEWER, "ana@other.example"))
    ]
    guide = (ROOT / "docs" / "sign_in.md").read_text("utf-8")
    (settings,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)[:1]
    with run_server_in_thread(user_claims=people) as provider:
        for named, here in (
            ("https://hedgerow.uni.example", "http://127.0.0.1:{port}"),
            (
                "https://id.uni.example/realms/linguistics",
                f"http://localhost:{provider.server_port}",
            ),
            ("…", SECRET),
        ):
            settings = settings.replace(named, here)
        (home / ".streamlit").mkdir()
        (home / ".streamlit" / "secrets.toml").write_text(settings, "utf-8")
        with App(home, {"HEDGEROW_SIGN_IN_LEADS": "ana@uni.example"}) as app:
            yield app.address


def _sign_in(page: Page, who: str) -> None:
    page.get_by_role("button", name="Sign in").click()
    page.locator(f"button[value='{who}']").click()
    see(page.get_by_text("Signed in as"))


# The fake provider's values.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")
def test_people_who_sign_in_get_the_rights_from_the_settings(
    secured: str, home: Path, page: Page, other: Page
) -> None:
    # The first visitor of a new server opens a card by its link and sees nothing of it.
    ((uid, text),) = rows(home, "SELECT uid, text FROM variant WHERE id = 3")
    page.goto(f"{secured}/review?variant={uid}")
    see(page.get_by_role("button", name="Sign in"))
    gone(card(page))
    assert str(text) not in page.content()
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Deny").click()
    see(page.get_by_text("the sign-in has failed"))

    # The link survives the sign-in. A lead decides.
    page.goto(f"{secured}/review?variant={uid}")
    _sign_in(page, LEAD)
    shows(page, uid)
    see(page.get_by_text("Your role: lead"), page.get_by_test_id("stSidebarNavLink").first)
    press(page, "a")
    decided = """SELECT variant_id, verdict, name, role
        FROM decision JOIN reviewer r ON r.id = reviewer_id"""
    assert rows(home, decided) == [(3, "accept", "Ana Ruiz", "lead")]

    # A viewer reads card after card, and no key or button changes anything.
    go(other, f"{secured}/review")
    _sign_in(other, VIEWER)
    see(card(other), other.get_by_text("Your role: viewer"))
    seen = shown(other)
    key(other, *"a1xednwtf")
    assert shown(other) == seen
    press(other, "s")
    gone(other.get_by_role("button", name="Accept"))
    go(other, f"{secured}/settings")
    see(other.get_by_text("Only leads can").first)
    assert SECRET not in other.content()
    assert len(rows(home, decided)) == len(rows(home, "SELECT id FROM run")) == 1
    # Two people with the same name remain separate.
    names = rows(home, "SELECT name, role FROM reviewer WHERE identity IS NOT NULL ORDER BY id")
    assert names == [("Ana Ruiz", "lead"), ("Ana Ruiz (ana@other.example)", "viewer")]

    # Signing out ends it, and the next page asks again.
    other.get_by_role("button", name="Sign out").click()
    other.get_by_role("button", name="End session").click()  # the provider's own page
    see(other.get_by_role("button", name="Sign in"))
    other.goto(f"{secured}/review")
    see(other.get_by_role("button", name="Sign in"))
    gone(card(other))


def test_a_killed_server_loses_neither_decisions_nor_unfinished_texts(
    project: Engine, home: Path, page: Page, other: Page, chromium: Chromium
) -> None:
    with App(home) as app:
        uid = come(page, app.address)
        for milliseconds, keys, label in KILLS:
            place = "/review?type=Affixal+negation&order=Random"
            here = come(other, app.address, place, name="Bert")
            key(other, *keys)
            other.get_by_label(label, exact=True).last.fill(BEGUN)
            eventually(other, lambda: rows(home, DRAFTS) == [(1,)])
            other.goto("about:blank")  # otherwise it would reconnect and continue
            page.keyboard.press("a")
            time.sleep(milliseconds / 1000)
            app.end(signal.SIGKILL)
            # Either the decision is stored or its card appears again: never neither, never both.
            stored = (uid, "Ada", "accept") in rows(home, DECIDED)
            assert rows(home, STATUS, uid) == [("accepted" if stored else "pending",)]
            app.start()
            before, uid = uid, come(page, app.address)
            assert (uid != before) is stored
            with chromium.page() as another:
                assert come(another, app.address, name="Bert") == here
                see(another.get_by_role("button", name="Type: Affixal negation"))
                box = another.get_by_role("textbox", name=label, exact=True).last
                finish(another, box, flagged=label == "New wording")
        come_back_to_open_windows(app, project, home, page, other, uid)
    assert rows(home, "SELECT count(*) FROM draft") == [(0,)]


def finish(page: Page, box: Locator, *, flagged: bool) -> None:
    """Continue and save what was begun before the server ended."""
    expect(box).to_have_value(BEGUN)
    box.fill(ENDED)
    confirm(page) if flagged else page.keyboard.press("Control+Enter")
    gone(box)


def come_back_to_open_windows(
    app: App, project: Engine, home: Path, page: Page, other: Page, uid: str
) -> None:
    """As after closing the laptop. Meanwhile, somebody else has decided on a shown card."""
    here = come(other, app.address, name="Bert")
    box = editor(other, "e", "New wording")
    box.fill(BEGUN)
    eventually(other, lambda: rows(home, DRAFTS) == [(1,)])
    done, mine = len(rows(home, DECIDED)), []
    app.end(signal.SIGKILL)
    with writing(project) as session:
        before = deciding.shown(deciding.find_variant(session, uid))
        deciding.accept(session, before, reviewer_id=person(session, "Lea"))
    page.keyboard.press("a")  # no browser is connected
    app.start()
    page.evaluate(PRESSED)
    for _ in range(60):
        page.keyboard.press("a")
        page.wait_for_timeout(500)
        mine = [row[0] for row in rows(home, DECIDED)[done:] if row[1] == "Ada"]
        if len(mine) >= 2:
            break
    assert len(set(mine)) == len(mine) >= 2  # the page has found its way back
    assert set(mine) <= set(page.evaluate("window.pressed"))
    see(other.locator("[data-test-connection-state=CONNECTED]"))
    assert shown(other) == here
    finish(other, box, flagged=True)
    assert (here, "Bert", "edit") in rows(home, DECIDED)


def test_an_unreachable_database_is_reported_in_one_sentence(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    uid = come(page, share(home))
    (home / "hedgerow.db").rename(home / "away.db")
    page.keyboard.press("a")
    see(
        page.locator("[class*=st-key-error-box]").first,
        page.get_by_role("link", name="Release & export"),
    )
    gone(page.get_by_test_id("stException"))
    assert not (home / "hedgerow.db").exists()
    (home / "away.db").rename(home / "hedgerow.db")
    page.get_by_role("button", name="Try again").first.click()
    shows(page, uid)
    press(page, "a")
    assert rows(home, DECIDED) == [(uid, "Ada", "accept")]
