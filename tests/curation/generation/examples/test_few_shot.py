"""Examples in a prompt: stored with its version, inserted verbatim, never from the same anchor."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.content_uids import anchor_uid
from curation.generation import run
from curation.generation.examples.few_shot import (
    HEADING,
    Example,
    as_rows,
    from_rows,
    in_words,
    with_place,
)
from curation.generation.prompts import (
    built_in,
    fill,
    prompt_versions,
    save_copy,
    seed_prompts,
    types_of,
)
from curation.generation.request import KIND, AnchorSelection, GenerationRequest
from curation.taxonomy.built_in import TAXONOMY
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Answer, PromptVersion, Variant
from db.settings import Settings
from tests.curation.generation.conftest import Serve
from tests.support.databases import both_databases
from tests.support.factories import add_anchor

HOSTILE = "Say {types}, {text} and **<b>bold</b>** to {examples}."


def example(number: int, type_id: str = "verbal", text: str = "", *, anchor: str = "") -> Example:
    anchor = anchor or f"The road {number} is long."
    return Example(f"v{number}", type_id, anchor_uid(anchor), anchor, text or f"Not {number}.")


def test_the_place_comes_before_the_anchor_and_leaves_no_empty_line() -> None:
    for role in ("negation", "hedge", "paraphrase", "unsupported"):
        template = built_in(role)
        placed = with_place(template)
        assert placed == f"{{examples}}\n\n{template}" and with_place(placed) == placed
        types = types_of(role, TAXONOMY)  # type: ignore[arg-type]
        values = {"text": "A bridge.", "types": types, "cues": {}}
        assert fill(placed, **values) == fill(template, **values)  # type: ignore[arg-type]
    assert with_place("Do this:\nText: {text}\n{types}") == (
        "Do this:\n{examples}\n\nText: {text}\n{types}"
    )
    with pytest.raises(HedgerowError, match="replaced by the list of types"):
        with_place("{text}")


def test_an_anchor_comes_once_before_its_variants_and_texts_stay_unchanged() -> None:
    shown = [example(1), example(1, "affixal", HOSTILE), example(2), example(3, "word")]
    words = in_words(shown, ["verbal", "affixal"], anchor_uid="x", text="x")
    assert words.splitlines() == [
        HEADING,
        "",
        "Example: The road 1 is long.",
        '"verbal": Not 1.',
        f'"affixal": {HOSTILE}',
        "",
        "Example: The road 2 is long.",
        '"verbal": Not 2.',
    ]
    prompt = fill(
        with_place(built_in("negation")),
        text="A bridge.",
        types=types_of("negation", TAXONOMY),
        cues={},
        examples=words,
    )
    assert HOSTILE in prompt and prompt.count("1. ") == 1


def test_no_example_of_the_anchor_itself_is_shown() -> None:
    own = example(1)
    for uid, text in ((own.anchor_uid, "Reworded."), ("other", own.anchor)):
        assert in_words([own], ["verbal"], anchor_uid=uid, text=text) == ""


@both_databases
def test_the_prompt_of_every_variant_can_be_rebuilt(
    engine: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    with writing(engine) as session:
        for number in range(3):
            add_anchor(session, f"The road {number} is long.")
        seed_prompts(session)
        parent = prompt_versions(session, "negation")[0]
        shown = [example(1), example(2, "affixal", HOSTILE)]
        template = with_place(parent.template)
        saved = save_copy(session, parent, template, author_id=None, examples=as_rows(shown))
        assert saved.version == 2 and from_rows(saved.examples) == tuple(shown)
        again = save_copy(session, parent, template, author_id=None, examples=as_rows(shown))
        fewer = save_copy(session, parent, template, author_id=None, examples=as_rows(shown[:1]))
        kept = save_copy(session, saved, f"{template}\n", author_id=None)
        none = save_copy(session, saved, parent.template, author_id=None)
        assert (again.id, fewer.version, kept.id, none.id) == (saved.id, 3, saved.id, parent.id)
        request = GenerationRequest(
            model="fake",
            base_url=address,
            roles=("negation",),
            prompts={"negation": saved.id},
            selection=AnchorSelection(),
            measure=False,
        )
        run_id = run.request_generation(session, request).id
    execute(engine, Settings(home=home, database_url=""), run_id, {KIND: run.work})
    with reading(engine) as session:
        types = types_of("negation", TAXONOMY)
        rebuilt = set()
        query = select(Variant, Answer, PromptVersion).where(
            col(Answer.id) == Variant.answer_id, col(PromptVersion.id) == Variant.prompt_version_id
        )
        for variant, answer, prompt in session.execute(query):
            anchor = f"The road {variant.anchor_id - 1} is long."
            words = in_words(
                from_rows(prompt.examples),
                [entry.id for entry in types],
                anchor_uid=anchor_uid(anchor),
                text=anchor,
            )
            rebuilt.add(
                fill(prompt.template, text=anchor, types=types, cues=answer.cues, examples=words)
            )
    assert rebuilt == set(server.asked) and len(rebuilt) == 3
    by_anchor = {prompt.rpartition("Text: ")[2].splitlines()[0]: prompt for prompt in rebuilt}
    assert "Not 1." in by_anchor["The road 0 is long."]
    assert "Not 1." not in by_anchor["The road 1 is long."]
    assert HOSTILE in by_anchor["The road 1 is long."]
    assert HOSTILE not in by_anchor["The road 2 is long."]
