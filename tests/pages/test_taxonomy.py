"""The taxonomy page: its contents, and a user-defined type from the form to the other pages."""

from pathlib import Path

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.generation.request import Which
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.own_types import add_type, find_type
from curation.taxonomy.project_types import list_types
from curation.taxonomy.surface_check import SurfaceCheck
from curation.variants.own import write_variant
from db.engine import reading, writing
from db.models import Variant
from pages.components.shared.formatting.label import plain
from pages.components.taxonomy.type_detail import in_words
from tests.curation.support.own_types import HEDGE, NEGATION
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_family, person

HOSTILE = "**bold** <img src=x> :smile: $x$ [a](b)"


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click().run()
    assert not app.exception
    return app


def write(app: AppTest, key: str, **values: str) -> AppTest:
    for name, value in values.items():
        for kind in ("text_input", "text_area", "selectbox"):
            for element in app.get(kind):
                if element.key == f"own-type-{name}-{key}":
                    element.set_value(value)
    return app.run()


def options(app: AppTest, key: str) -> list[str]:
    return next(list(found.options) for found in app.get("button_group") if found.key == key)


@pytest.fixture
def form(app_engine: Engine, open_page: OpenPage) -> AppTest:
    """The empty form."""
    app = open_page("taxonomy")
    app.session_state["part"] = "Add a type"
    app.run()
    assert not app.exception
    return app


def test_a_contradictory_check_loses_no_typed_text(form: AppTest) -> None:
    write(form, "new-0", guideline="Asked for: a quantifier that is denied.", line="Deny it.")
    require, forbid = (
        form.multiselect(key=f"own-type-{side}-new-0") for side in ("require", "forbid")
    )
    require.set_value(["negator"])
    forbid.set_value(["negator"]).run()
    assert not form.exception
    form.multiselect(key="own-type-forbid-new-0").set_value([]).run()
    shown = {box.label: box.value for box in form.text_area}
    assert shown["Guideline"] == "Asked for: a quantifier that is denied."
    assert shown["Prompt line"] == "Deny it."


def test_the_built_in_types_are_shown_and_cannot_be_changed(
    app_engine: Engine, open_page: OpenPage
) -> None:
    app = open_page("taxonomy")
    assert app.dataframe[0].value["Type"].tolist() == [entry.label for entry in TAXONOMY]
    states = app.dataframe[0].value["State"].tolist()
    assert states[:6] == ["built in (paper)"] * 6
    assert set(states[6:]) == {"built in (Hedgerow)"}
    for entry in TAXONOMY:
        app.selectbox(key="shown").set_value(entry.id).run()
        assert not app.exception
        assert entry.definition in texts(app)
        assert "Built-in types cannot be changed" in "\n".join(c.value for c in app.caption)
        assert not [b for b in app.button if b.key and b.key.startswith("type-")]


def test_a_type_is_added_and_shown(form: AppTest, app_engine: Engine) -> None:
    write(
        form,
        "new-0",
        label=NEGATION.label,
        definition=NEGATION.definition,
        anchor=NEGATION.example_anchor,
        example=NEGATION.example,
    )
    form.multiselect(key="own-type-require-new-0").set_value(["negator"]).run()
    assert "The check finds nothing wrong." in "\n".join(h.value for h in form.get("html"))
    assert '"quantifier_negation": Quantifier negation: A negated' in form.code[0].value
    press(form, "type-save")
    assert "Added Quantifier negation." in texts(form)
    assert form.selectbox(key="shown").value == "quantifier_negation"
    with reading(app_engine) as session:
        entry = find_type(session, "quantifier_negation")
    assert entry.surface_check == SurfaceCheck(require_new=("negator",))
    assert form.dataframe[0].value["State"].tolist()[-1] == "your own"


def test_a_refused_type_says_why_and_keeps_what_was_typed(
    form: AppTest, app_engine: Engine
) -> None:
    write(form, "new-0", label="Verbal negation", definition=NEGATION.definition)
    press(form, "type-save")
    assert "Enter an example anchor of 1 to 2000 characters." in texts(form)
    write(form, "new-0", anchor="It is safe.", example="It is unsafe.")
    press(form, "type-save")
    assert "'Verbal negation' is already a type" in texts(form)
    assert form.text_input(key="own-type-label-new-0").value == "Verbal negation"
    with reading(app_engine) as session:
        assert len(list_types(session)) == len(TAXONOMY)


def test_the_check_can_be_tried_on_any_pair(form: AppTest) -> None:
    write(form, "new-0", role="hedge")
    write(form, "new-0", words="rumour has it\nthey whisper")
    form.text_input(key="try-anchor-new-0").set_value("It is open.")
    form.text_input(key="try-text-new-0").set_value("They whisper that it is open.").run()
    assert "Its cue: they whisper." in "\n".join(h.value for h in form.get("html"))
    form.text_input(key="try-text-new-0").set_value("It is perhaps open.").run()
    assert "has none of the cues" in "\n".join(h.value for h in form.get("html"))


def test_a_change_creates_the_next_version_and_is_measured(
    with_source: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(with_source) as session:
        add_type(session, NEGATION)
        anchor_id = next(iter(add_family(session).values())).anchor_id
        write_variant(
            session,
            anchor_id=anchor_id,
            type_id="quantifier_negation",
            text="Not all of the bridge is safe.",
            reviewer_id=person(session),
        )
    app = open_page("taxonomy")
    app.selectbox(key="shown").set_value("quantifier_negation").run()
    press(app, "type-change")
    key = "quantifier_negation-1"
    assert app.text_input(key=f"own-type-label-{key}").value == NEGATION.label
    assert app.selectbox(key=f"own-type-role-{key}").disabled
    write(app, key, label="Negated quantifier")
    press(app, "type-save")
    assert "is now at version 2." in texts(app) and not started
    press(app, "type-change")
    write(app, "quantifier_negation-2", words="not every\nnot all")
    press(app, "type-save")
    assert "Hedgerow now applies the new check to 1 variant." in texts(app)
    assert len(started) == 1
    assert "Version 1," in texts(app)


def test_a_check_is_described_with_correct_numbers_and_each_word_once() -> None:
    check = SurfaceCheck.model_validate(
        {
            "require_cue": True,
            "require_words": ["maybe"],
            "forbid_words_unless": [
                {"words": ["any longer", "any more", "any more."], "anchor_has": ["still"]}
            ],
        }
    )
    assert in_words(check) == [
        "Must contain its hedge cue: maybe.",
        "Must not add: any longer, any more (unless the anchor has this: still).",
    ]
    several = SurfaceCheck(require_cue=True, require_words=("maybe", "perhaps"))
    assert in_words(several) == ["Must contain one of its 2 hedge cues."]
    assert in_words(SurfaceCheck(require_words=("some",))) == ["Must add this: some."]


def test_the_form_keeps_every_part_of_the_check(
    with_source: Engine, open_page: OpenPage, started: list[int]
) -> None:
    check = SurfaceCheck.model_validate(
        {
            "require_new": ["negator"],
            "forbid_reversed_content": True,
            "forbid_words_unless": [{"words": ["no longer"], "anchor_has": ["still", "remain"]}],
        }
    )
    with writing(with_source) as session:
        add_type(session, NEGATION.model_copy(update={"surface_check": check}))
    app = open_page("taxonomy")
    app.selectbox(key="shown").set_value("quantifier_negation").run()
    assert "no longer (unless the anchor has one of: still, remain)." in texts(app)
    assert "with their antonyms" in texts(app)
    press(app, "type-change")
    write(app, "quantifier_negation-1", label="Negated quantifier")
    press(app, "type-save")
    with reading(with_source) as session:
        assert find_type(session, "quantifier_negation").surface_check == check


def test_a_retired_type_can_be_restored(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        add_type(session, NEGATION)
    app = open_page("taxonomy")
    app.selectbox(key="shown").set_value("quantifier_negation").run()
    press(app, "type-retire")
    assert "are retired" in texts(app)
    assert app.dataframe[0].value["State"].tolist()[-1] == "retired"
    press(app, "type-restore")
    with reading(with_source) as session:
        assert "quantifier_negation" in {entry.id for entry in list_types(session)}


def test_generate_opens_with_your_own_type(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        entry = add_type(session, HEDGE)
        add_family(session)
    app = open_page("overview").switch_page("pages/taxonomy.py")
    app.query_params["shown"] = entry.label  # as in the URL of somebody who selected it
    app.run()
    press(app, "type-generate")
    assert app.title[0].value == "Generate"
    assert app.multiselect(key="generate-types").value == [entry.id]
    assert app.selectbox(key="generate-which").value == Which.SLOTS
    roles = next(group for group in app.get("button_group") if group.key == "generate-roles")
    assert roles.value == ["hedge"]


@pytest.fixture
def signed_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada is signed in by the settings."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")


@pytest.fixture
def hostile(signed_in: None, with_source: Engine) -> Engine:
    """A family with a pending variant of a type with only hostile texts."""
    named = {"label": HOSTILE, "definition": f"It is {HOSTILE}", "guideline": f"Rule: {HOSTILE}"}
    with writing(with_source) as session:
        own = add_type(session, NEGATION.model_copy(update=named))
        add_type(session, HEDGE)
        first = next(iter(add_family(session).values()))
        session.add(
            Variant(
                uid="own",
                anchor_id=first.anchor_id,
                type_id=own.id,
                text="Not all of the bridge is safe.",
            )
        )
    return with_source


@pytest.mark.parametrize(
    "name",
    [
        "overview",
        "anchors",
        "taxonomy",
        "generate",
        "review",
        "diagnostics",
        "release",
        "train",
        "settings",
    ],
)
def test_a_hostile_type_is_text_on_every_page(
    hostile: Engine, open_page: OpenPage, name: str
) -> None:
    app = open_page(name)
    assert not app.exception
    assert "<img" not in unsafe_texts(app)
    markup = "\n".join(str(element.value) for element in app.get("html"))
    assert unsafe_texts(app).count("**bold**") == markup.count("**bold**")  # escaped there
    shown = [o for group in app.get("button_group") for o in group.options if "bold" in o]
    assert all("**bold**" not in option for option in shown)


def test_a_card_can_be_retyped_to_a_type_that_was_just_added(
    hostile: Engine, open_page: OpenPage
) -> None:
    app = open_page("review")
    assert options(app, "type")[-3:] == [plain(HOSTILE), plain(HEDGE.label), "All types"]
    with writing(hostile) as session:
        add_type(session, NEGATION.model_copy(update={"label": "Newest"}))
    app.run()
    assert "Newest" in options(app, "type")
    app.button(key="t-key").click().run()
    app.button(key="retype-more").click().run()  # nine types have a digit at a time
    labels = [b.label for b in app.button if b.key and b.key.startswith("retype-")]
    assert labels[-4:] == [plain(HOSTILE), plain(HEDGE.label), "Newest", "More types"]
    helps = [b.help for b in app.button if b.key and b.key.startswith("retype-")]
    assert "**bold**" not in "".join(helps)
