"""The taxonomy page: its contents, and a user-defined type from the form to the other pages."""

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.editing.own_types import add_type, find_type
from curation.editing.own_variants import write_variant
from curation.generation.request import Which
from curation.taxonomy.built_in import TAXONOMY, VariantType
from curation.taxonomy.project_types import list_types
from curation.taxonomy.surface_check import SurfaceCheck
from db.engine import reading, writing
from db.models import Variant
from pages.components.taxonomy.type_detail import in_words
from tests.curation.support.own_types import HEDGE, NEGATION
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import html, page_text, press, put, rows
from tests.support.factories import add_family, person

HOSTILE = "**bold** <img src=x> :smile: $x$ [a](b)"


def write(app: AppTest, key: str, **values: str) -> AppTest:
    for name, value in values.items():
        for kind in ("text_input", "text_area", "selectbox"):
            for element in app.get(kind):
                if element.key == f"own-type-{name}-{key}":
                    element.set_value(value)
    return app.run()


@pytest.fixture
def form(app_engine: Engine, open_page: OpenPage) -> AppTest:
    """The empty form."""
    app = open_page("taxonomy", part="Add a type")
    assert not app.exception
    return app


def stored(engine: Engine) -> VariantType:
    with reading(engine) as session:
        return find_type(session, "quantifier_negation")


def test_the_built_in_types_are_shown_and_cannot_be_changed(
    app_engine: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("taxonomy")
    wording(app, "taxonomy", "the built-in types")
    listed = rows(app, "Type")
    assert [row["Type"] for row in listed] == [entry.label for entry in TAXONOMY]
    states = [row["State"] for row in listed]
    assert len(set(states[:6])) == len(set(states[6:])) == 1 and states[0] != states[6]
    for entry in TAXONOMY:
        put(app, "selectbox", "shown", entry.id)
        assert entry.definition in page_text(app)
        assert not [b for b in app.button if b.key and b.key.startswith("type-")]


def test_a_type_is_added_once_its_form_is_complete(
    form: AppTest, app_engine: Engine, wording: Wording
) -> None:
    wording(form, "taxonomy", "an empty form")
    write(form, "new-0", label="Verbal negation", definition=NEGATION.definition, line="Deny it.")
    press(form, "type-save")
    assert "2000 characters" in page_text(form)  # an example is missing
    require, forbid = (
        form.multiselect(key=f"own-type-{side}-new-0") for side in ("require", "forbid")
    )
    require.set_value(["negator"])
    forbid.set_value(["negator"]).run()  # a contradiction loses nothing that was typed
    assert not form.exception
    put(form, "multiselect", "own-type-forbid-new-0", [])
    assert form.text_area(key="own-type-line-new-0").value == "Deny it."
    write(form, "new-0", anchor=NEGATION.example_anchor, example=NEGATION.example)
    press(form, "type-save")
    assert "'Verbal negation'" in page_text(form)  # there is such a type
    assert form.text_input(key="own-type-label-new-0").value == "Verbal negation"
    with reading(app_engine) as session:
        assert len(list_types(session)) == len(TAXONOMY)
    write(form, "new-0", label=NEGATION.label, line="")
    wording(form, "taxonomy", "a complete form")
    assert '"quantifier_negation": Quantifier negation: ' in form.code[0].value
    press(form, "type-save")
    assert form.selectbox(key="shown").value == "quantifier_negation"
    assert stored(app_engine).surface_check == SurfaceCheck(require_new=("negator",))
    assert rows(form, "State")[-1]["State"] == "your own"


def test_the_check_can_be_tried_on_any_pair(form: AppTest) -> None:
    write(form, "new-0", role="hedge")
    write(form, "new-0", words="rumour has it\nthey whisper")
    form.text_input(key="try-anchor-new-0").set_value("It is open.")
    put(form, "text_input", "try-text-new-0", "They whisper that it is open.")
    assert "they whisper." in html(form)
    put(form, "text_input", "try-text-new-0", "It is perhaps open.")
    assert "they whisper." not in html(form)


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
    press(put(app, "selectbox", "shown", "quantifier_negation"), "type-change")
    key = "quantifier_negation-1"
    assert app.text_input(key=f"own-type-label-{key}").value == NEGATION.label
    assert app.selectbox(key=f"own-type-role-{key}").disabled
    write(app, key, label="Negated quantifier")
    press(app, "type-save")
    assert stored(with_source).label == "Negated quantifier" and not started
    press(app, "type-change")
    write(app, "quantifier_negation-2", words="not every\nnot all")
    press(app, "type-save")
    assert "1 variant" in page_text(app) and len(started) == 1
    assert "Version 1," in page_text(app)


def test_the_form_keeps_every_part_of_the_check_and_a_retired_type_is_restored(
    with_source: Engine, open_page: OpenPage
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
    put(app, "selectbox", "shown", "quantifier_negation")
    assert "no longer (unless the anchor has one of: still, remain)." in page_text(app)
    assert "antonyms" in page_text(app)
    press(app, "type-change")
    write(app, "quantifier_negation-1", label="Negated quantifier")
    press(app, "type-save")
    assert stored(with_source).surface_check == check
    press(app, "type-retire")
    assert rows(app, "State")[-1]["State"] == "retired"
    press(app, "type-restore")
    with reading(with_source) as session:
        assert "quantifier_negation" in {entry.id for entry in list_types(session)}


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


def test_generate_opens_with_your_own_type(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        entry = add_type(session, HEDGE)
        add_family(session)
    app = open_page("taxonomy", shown=entry.label)
    press(app, "type-generate")
    assert app.title[0].value == "Generate"
    assert app.multiselect(key="generate-types").value == [entry.id]
    assert app.selectbox(key="generate-which").value == Which.SLOTS
    roles = next(group for group in app.get("button_group") if group.key == "generate-roles")
    assert roles.value == ["hedge"]


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
    assert unsafe_texts(app).count("**bold**") == html(app).count("**bold**")  # escaped there
    offered = [o for group in app.get("button_group") for o in group.options if "bold" in o]
    assert all("**bold**" not in option for option in offered)
