"""The card of an export: its statements about the data, and escaped user texts."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Engine, select

from curation.markdown import escape
from curation.release.export.release_folder import export_release
from curation.release.freezing import create_release
from curation.taxonomy.built_in import TAXONOMY_VERSION
from db.engine import writing
from db.models import Reviewer, Source, Split, TypeVersion, Verdict
from tests.curation.support.exported import body, contents, opened, ten_anchors
from tests.curation.support.families import (
    add_anchor,
    add_plain_family,
    add_variant,
    decide,
    model,
    person,
)


def header(folder: Path) -> dict[str, Any]:
    text = (folder / "README.md").read_text(encoding="utf-8")
    parsed: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return parsed


def test_the_card_says_what_the_data_are(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
        folder = export_release(session, release, tmp_path / "out")
    meta, text = header(folder), body(folder)
    assert meta["pretty_name"] == "Ten doors"
    assert meta["license"] == "cc-by-4.0"
    assert meta["language"] == ["en"]
    assert meta["size_categories"] == ["n<1K"]
    assert meta["annotations_creators"] == ["machine-generated"]
    assert release.content_hash in text
    assert "**No person has reviewed this data.** 30 of the 30 accepted variants" in text
    assert "form 20 triples" in text
    row = f"| verbal | {TAXONOMY_VERSION} | negative | Verbal negation | The negation is "
    assert f"{row}grammatically" in text
    for name in ("positive_cue", "adjudicated"):
        assert f"| {name} |" in text


def test_the_card_tells_people_from_models(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        anchor = add_plain_family(session, 1)
        ada = person(session, "Ada Lovelace")
        decide(session, add_variant(session, anchor, "phrase", "It seems open."), ada)
        folder = export_release(session, create_release(session).release, tmp_path / "out")
    text = body(folder)
    assert "Of the 4 accepted variants, a person accepted 1 (25.0%). 3 (75.0%) were" in text
    assert header(folder)["annotations_creators"] == ["expert-generated", "machine-generated"]
    assert b"Lovelace" not in b"".join(contents(folder).values())


def test_the_card_says_how_far_people_agree(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        ada, bert = person(session, "Ada"), person(session, "Bert")
        for number in range(6):
            anchor = add_plain_family(session, number)
            hedge = add_variant(session, anchor, "phrase", f"Door {number} seems open.")
            decide(session, hedge, ada)
            decide(session, hedge, bert, Verdict.ACCEPT if number else Verdict.REJECT)
        release = create_release(session).release
        folder = export_release(session, release, tmp_path / "out")
        text = body(folder)
        assert "Several people decided on 6 variants, each without knowing" in text
        assert "| phrase | 6 | 83.3% | 0.00 | 0.00 | 91.7% |" in text
        assert "| all | 6 | 83.3%" in text
        assert "91.7% of the verdicts are acceptances, so chance alone gives" in text
        # The one in conflict is counted above, but is not in the release.
        assert "Two or more people accepted 5 of the 23 released variants." in text
        # A release of an earlier version has no such count.
        release.summary = {k: v for k, v in release.summary.items() if k != "agreement"}
        folder = export_release(session, release, tmp_path / "again")
        assert "### Agreement" not in body(folder)


def test_the_card_says_that_nobody_has_reviewed_twice(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        folder = export_release(session, ten_anchors(session), tmp_path / "out")
    assert "No two people decided on the same variant independently" in body(folder)


@pytest.mark.parametrize(
    ("licences", "expected"),
    [
        (["CC BY-SA 4.0"], {"license": "cc-by-sa-4.0"}),
        (["CC BY 4.0", "CC0 1.0"], {"license": "other", "license_name": "several, see the card"}),
        (["Ask Jo: no"], {"license": "other", "license_name": "Ask Jo: no"}),
        ([""], {"license": "unknown"}),
    ],
)
def test_the_card_names_the_licence(
    engine: Engine, tmp_path: Path, licences: list[str], expected: dict[str, str]
) -> None:
    with writing(engine) as session:
        for licence in licences:
            anchor = add_anchor(
                session, f"Under {licence}.", source=f"Source {licence}", licence=licence
            )
            decide(session, add_variant(session, anchor, "verbal", "Not so."), model(session))
        folder = export_release(session, create_release(session).release, tmp_path / "out")
    assert {k: v for k, v in header(folder).items() if k.startswith("license")} == expected
    for licence in licences:
        assert f"| Source {licence}".rstrip() in body(folder)


def test_hostile_names_do_not_reach_the_card_as_markup(engine: Engine, tmp_path: Path) -> None:
    evil = 'x\n---\n# Own <img src=x> | [a](http://e.example) `c` *b* @all $x$ ":'
    with writing(engine) as session:
        anchor = add_anchor(session, "It rains.", source=evil, licence=evil, split=Split.TRAIN)
        row = session.execute(select(Source)).scalar_one()
        row.note = row.url = evil
        wording = session.get_one(TypeVersion, ("verbal", TAXONOMY_VERSION))
        wording.label = wording.definition = evil
        llm = session.get_one(Reviewer, model(session).id)
        variant = add_variant(session, anchor, "verbal", "It does not rain.")
        variant.model = variant.provider = evil
        anchor.language = "en\n- x"
        decide(session, variant, llm)
        folder = export_release(
            session, create_release(session, name=evil).release, tmp_path / "out"
        )
    meta, text = header(folder), body(folder)
    assert meta["pretty_name"] == " ".join(evil.split())
    assert [config["config_name"] for config in meta["configs"]] == ["variants", "families"]
    assert meta["language"] == ["en - x"]
    assert opened(folder, "variants", tmp_path / "cache")["train"][0]["source"] == evil
    headings = [line for line in text.splitlines() if line.startswith("# ")]
    assert headings == [f"# {escape(evil)}"]
    assert "\n---\n" not in text
    for raw in ("<img", "[a](", "`c`", "*b*", "@all", "$x$", "http://e.example"):
        assert raw not in text
    taxonomy = next(
        line
        for line in text.splitlines()
        if line.startswith(f"| verbal | {TAXONOMY_VERSION} | neg")
    )
    assert taxonomy.count("|") == 8
