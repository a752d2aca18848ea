"""Signing in with an OpenID Connect provider in Chromium: who may read, and who may change what."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from oidc_provider_mock import User, run_server_in_thread
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.support.app import served
from tests.browser.support.chromium import Chromium
from tests.browser.support.reviewing import card, press, rows, settle, shown
from tests.support.checkout import ROOT
from tests.support.page_session import first_page

# The fake provider's values.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")

LEAD, VIEWER = "subject-of-ana", "subject-of-vic"
SECRET = "never-in-a-log-or-a-page-and-long-enough-to-sign"

GUIDE = ROOT / "docs" / "sign_in.md"


def _secrets(provider: int) -> str:
    """The guide's example, with the fake provider instead of the named one."""
    example = re.search(r"```toml\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert example
    text = example[1].replace("https://hedgerow.uni.example", "http://127.0.0.1:{port}")
    text = text.replace("https://id.uni.example/realms/linguistics", f"http://localhost:{provider}")
    return text.replace("…", SECRET)


def _user(subject: str, name: str, email: str) -> User:
    return User(sub=subject, claims={"name": name, "email": email, "email_verified": True})


@pytest.fixture
def provider() -> Iterator[int]:
    """The port of a provider that knows two people with the same name."""
    people = [
        _user(LEAD, "Ana Ruiz", "ana@uni.example"),
        _user(VIEWER, "Ana Ruiz", "ana@other.example"),
    ]
    with run_server_in_thread(user_claims=people) as server:
        yield server.server_port


@pytest.fixture
def address(provider: int, project: Engine, home: Path) -> Iterator[str]:
    """The address of an app that requires signing in."""
    (home / ".streamlit").mkdir()
    (home / ".streamlit" / "secrets.toml").write_text(_secrets(provider), "utf-8")
    with served(home, {"HEDGEROW_SIGN_IN_LEADS": "ana@uni.example"}) as address:
        yield address


@pytest.fixture
def other(chromium: Chromium) -> Iterator[Page]:
    """A page of another person, in a separate browser context."""
    with chromium.new_page() as page:
        yield page


def _sign_in(page: Page, subject: str) -> None:
    page.get_by_role("button", name="Sign in").click()
    page.locator(f"button[value='{subject}']").click()
    expect(page.get_by_text("Signed in as")).to_be_visible()


def _decisions(home: Path) -> list[tuple[object, ...]]:
    return rows(home, "SELECT variant_id, reviewer_id, verdict FROM decision ORDER BY id")


def test_people_who_sign_in_get_the_rights_from_the_settings(
    address: str, home: Path, page: Page, other: Page
) -> None:
    # The first visitor of a new server opens a card by its link and sees nothing of it.
    ((uid, text),) = rows(home, "SELECT uid, text FROM variant WHERE id = 3")
    page.goto(f"{address}/review?variant={uid}")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(card(page)).to_have_count(0)
    assert str(text) not in page.content()
    opened = first_page(address)
    assert opened.headings == ["Hedgerow"] and not opened.errors

    # The link survives the sign-in. A lead decides.
    _sign_in(page, LEAD)
    expect(card(page)).to_have_attribute("data-variant", str(uid))
    expect(page.get_by_text("Your role: lead")).to_be_visible()
    settle(page)
    press(page, "a")
    ((variant, who, verdict),) = _decisions(home)
    assert (variant, verdict) == (3, "accept")
    assert rows(home, "SELECT name, role FROM reviewer WHERE id = ?", who) == [("Ana Ruiz", "lead")]

    # A viewer reads card after card, and no key or button changes anything.
    runs = rows(home, "SELECT count(*) FROM run")
    other.goto(f"{address}/review")
    _sign_in(other, VIEWER)
    expect(card(other)).to_be_visible()
    expect(other.get_by_text("Your role: viewer")).to_be_visible()
    settle(other)
    seen = shown(other)
    for key in ("a", "1", "x", "e", "d", "n", "w", "t", "f"):
        other.keyboard.press(key)
        other.wait_for_timeout(250)
    assert shown(other) == seen
    press(other, "s")
    expect(other.get_by_role("button", name="Accept")).to_have_count(0)
    for path, message in {
        "/generate": "Only leads can start runs.",
        "/anchors?part=Add": "Only leads can add anchors.",
        "/train": "Only leads can start training runs.",
        "/benchmarks": "Only leads can start benchmark runs.",
        "/taxonomy?part=Add a type": "Only leads can add types.",
        "/settings": "Only leads can change these settings.",
        "/adjudicate": "Only leads can settle conflicts.",
    }.items():
        other.goto(f"{address}{path}")
        expect(other.get_by_text(message)).to_be_visible()
        assert other.get_by_text("This page failed").count() == 0
        assert SECRET not in other.content()
    assert len(_decisions(home)) == 1
    assert rows(home, "SELECT count(*) FROM run") == runs
    # Two people with the same name remain separate.
    names = rows(home, "SELECT name, role FROM reviewer WHERE identity IS NOT NULL ORDER BY id")
    assert names == [("Ana Ruiz", "lead"), ("Ana Ruiz (ana@other.example)", "viewer")]

    # Signing out ends it, and the next page asks again.
    other.get_by_role("button", name="Sign out").click()
    other.get_by_role("button", name="End session").click()  # the provider's own page
    expect(other.get_by_role("button", name="Sign in")).to_be_visible()
    other.goto(f"{address}/review")
    expect(other.get_by_role("button", name="Sign in")).to_be_visible()
    expect(card(other)).to_have_count(0)


def test_a_sign_in_that_the_provider_refuses_ends_where_it_began(address: str, page: Page) -> None:
    page.goto(address)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_text("the sign-in has failed or expired")).to_be_visible()
    expect(page.get_by_text("Signed in as")).to_have_count(0)
