"""The card of an export and the data section of a paper: true figures, and escaped user texts."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from curation.diagnostics.measuring import measure_variants
from curation.formatting import escape
from curation.release.export.card_sections import (
    WRITTEN_BY_MODELS,
    WRITTEN_BY_RULES,
    Writer,
    weak_spots_of,
    writers_of,
    writers_table,
)
from curation.release.export.release_folder import export_release
from curation.release.report.facts import Report, Table
from curation.release.report.sections import report
from curation.release.report.writing import Form, text
from curation.review import deciding
from curation.review.adjudication import shown_to_settle
from curation.review.deciding import shown
from curation.review.rules import apply_rule, parse_rule
from curation.taxonomy.built_in import TAXONOMY_VERSION
from db.engine import writing
from db.models import (
    Answer,
    CallState,
    ModelCall,
    PromptVersion,
    Release,
    Run,
    RunState,
    Source,
    Split,
    TypeVersion,
    Variant,
    Verdict,
)
from tests.curation.support.deciding import MOMENT, accept, edit, reject
from tests.curation.support.exported import body, contents, opened, ten_anchors
from tests.curation.support.families import add_plain_family, add_variant, decide
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, engine_of, freeze, model, person
from tests.support.factories import add_family as add_full


def header(folder: Path) -> dict[str, Any]:
    text = (folder / "README.md").read_text(encoding="utf-8")
    parsed: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return parsed


def carded(session: Session, place: Path, **more: Any) -> tuple[Release, dict[str, Any], str]:
    """The newest accepted variants' release, and the header and body of its card."""
    release = freeze(session, **more).release
    folder = export_release(session, release, place)
    return release, header(folder), body(folder)


@pytest.mark.slow
def test_the_card_says_what_the_data_are(session: Session, tmp_path: Path) -> None:
    ten_anchors(session)
    release, meta, text_ = carded(session, tmp_path / "out")
    assert {key: meta[key] for key in ("pretty_name", "license", "language")} == {
        "pretty_name": "Ten doors",
        "license": "cc-by-4.0",
        "language": ["en"],
    }
    assert meta["size_categories"] == ["n<1K"]
    assert meta["annotations_creators"] == ["machine-generated"]
    row = f"| verbal | {TAXONOMY_VERSION} | negative | Verbal negation | "
    facts = ["No person has reviewed", "30 of the 30 accepted", "20 triples", release.content_hash]
    facts += [row, "| positive_cue |", "| adjudicated |", "No two people decided"]
    assert [fact for fact in facts if fact not in text_] == []


@pytest.mark.slow
def test_the_card_tells_people_from_models(session: Session, tmp_path: Path) -> None:
    anchor = add_plain_family(session, 1)
    ada = person(session, "Ada Lovelace")
    decide(session, add_variant(session, anchor, "phrase", "It seems open."), ada)
    _, meta, text_ = carded(session, tmp_path / "out")
    for fact in ("Of the 4 accepted", "1 (25.0%)", "3 (75.0%)"):
        assert fact in text_
    assert meta["annotations_creators"] == ["expert-generated", "machine-generated"]
    assert b"Lovelace" not in b"".join(contents(tmp_path / "out").values())


@pytest.mark.slow
def test_the_card_says_how_far_people_agree(session: Session, tmp_path: Path) -> None:
    ada, bert = person(session, "Ada"), person(session, "Bert")
    for number in range(6):
        anchor = add_plain_family(session, number)
        hedge = add_variant(session, anchor, "phrase", f"Door {number} seems open.")
        decide(session, hedge, ada)
        decide(session, hedge, bert, Verdict.ACCEPT if number else Verdict.REJECT)
    release, _, text_ = carded(session, tmp_path / "out")
    # The one in conflict is counted in the table, but is not in the release.
    for fact in (
        "| phrase | 6 | 83.3% | 0.00 | 0.00 | 91.7% |",
        "| all | 6 | 83.3%",
        "5 of the 23",
    ):
        assert fact in text_
    # A release of an earlier version has no such count.
    release.summary = {k: v for k, v in release.summary.items() if k != "agreement"}
    assert "### Agreement" in text_
    assert "### Agreement" not in body(export_release(session, release, tmp_path / "again"))


@pytest.mark.slow
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
    session: Session, tmp_path: Path, licences: list[str], expected: dict[str, str]
) -> None:
    for licence in licences:
        source = f"Source {licence}"
        anchor = add_anchor(session, f"Under {licence}.", source=source, licence=licence)
        decide(session, add_variant(session, anchor, "verbal", "Not so."), model(session))
    _, meta, text_ = carded(session, tmp_path / "out")
    assert {k: v for k, v in meta.items() if k.startswith("license")} == expected
    assert all(f"| Source {licence}".rstrip() in text_ for licence in licences)


@pytest.mark.slow
def test_hostile_names_do_not_reach_the_card_as_markup(session: Session, tmp_path: Path) -> None:
    evil = 'x\n---\n# Own <img src=x> | [a](http://e.example) `c` *b* @all $x$ ":'
    anchor = add_anchor(session, "It rains.", source=evil, licence=evil, split=Split.TRAIN)
    row = session.execute(select(Source)).scalar_one()
    row.note = row.url = evil
    wording = session.get_one(TypeVersion, ("verbal", TAXONOMY_VERSION))
    wording.label = wording.definition = evil
    variant = add_variant(session, anchor, "verbal", "It does not rain.")
    variant.model = variant.provider = evil
    anchor.language = "en\n- x"
    decide(session, variant, model(session))
    _, meta, text_ = carded(session, tmp_path / "out", name=evil)
    assert (meta["pretty_name"], meta["language"]) == (" ".join(evil.split()), ["en - x"])
    assert [config["config_name"] for config in meta["configs"]] == ["variants", "families"]
    found = opened(tmp_path / "out", "variants", tmp_path / "cache")
    assert found["train"][0]["source"] == evil
    headings = [line for line in text_.splitlines() if line.startswith("# ")]
    assert headings == [f"# {escape(evil)}"]
    raw = ("\n---\n", "<img", "[a](", "`c`", "*b*", "@all", "$x$", "http://e.example")
    assert [one for one in raw if one in text_] == []
    start = f"| verbal | {TAXONOMY_VERSION} | neg"
    (line,) = [line for line in text_.splitlines() if line.startswith(start)]
    assert line.count("|") == 8


@pytest.mark.slow
def test_writers_are_counted_by_type(session: Session, tmp_path: Path) -> None:
    anchor = add_anchor(session, "It rains.")
    for provider, name, type_id, wording in [
        ("rules", "", "verbal", "It does not rain."),
        ("rules", "", "verbal", "It isn't raining."),
        ("rules", "", "word", "It probably rains."),
        ("openai", "gpt-x", "word", "It may rain."),
        ("person", "", "lexical", "It is dry."),
        ("imported", "", "verbal", "No rain falls."),
    ]:
        variant = add_variant(session, anchor, type_id, wording)
        variant.provider, variant.model = provider, name
        decide(session, variant, model(session))
    release, meta, text_ = carded(session, tmp_path / "out")
    found = writers_table(release, writers_of(session, release))
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in found.splitlines()]
    assert [rows[0], *rows[2:]] == [
        ["provider", "model", "verbal", "lexical", "word", "all"],
        ["imported", "", "1", "0", "0", "1"],
        ["openai", "gpt-x", "0", "0", "1", "1"],
        ["person", "", "0", "1", "0", "1"],
        ["rules", "", "2", "0", "1", "3"],
    ]
    assert found in text_ and "`rules` is " in text_
    assert meta["language_creators"] == ["expert-generated", "found", "machine-generated"]


def test_weak_spots_depend_on_who_wrote() -> None:
    rules, llm, people = (Writer(name, "", {"verbal": 1}) for name in ("rules", "openai", "person"))
    assert weak_spots_of([people]) == [] and weak_spots_of([rules]) == [WRITTEN_BY_RULES]
    assert weak_spots_of([llm, people]) == [WRITTEN_BY_MODELS]
    assert weak_spots_of([rules, llm]) == [WRITTEN_BY_MODELS, WRITTEN_BY_RULES]


HOSTILE = r"\end{verbatim}\input{/etc/passwd} & % $x$ _#^~ | <img src=x> [2cm] *"


def table(found: Report, name: str) -> dict[str, list[str | int]]:
    """The table's rows, by their first cells."""
    tables = [b for s in found.sections for b in s.blocks if isinstance(b, Table)]
    rows = next(each.rows for each in tables if each.name == name)
    return {str(row[0]): list(row[1:]) for row in rows}


def text_of(found: Report) -> str:
    return "\n".join(b for s in found.sections for b in s.blocks if isinstance(b, str))


def written_by_a_model(session: Session, variants: list[Variant]) -> None:
    """One call of a run, which cost half a dollar, wrote them."""
    prompt = PromptVersion(name="negation", version=3, template="")
    run = Run(
        kind="generate",
        parameters={"provider": "openai", "model": HOSTILE},
        state=RunState.DONE,
    )
    session.add_all([prompt, run])
    session.flush()
    one = variants[0]
    place = {"anchor_id": one.anchor_id, "anchor_revision": 1, "prompt_version_id": prompt.id}
    call = ModelCall(
        run_id=run.id,
        key="k",
        role="negation",
        type_ids=[variant.type_id for variant in variants],
        state=CallState.DONE,
        **place,
    )
    session.add(call)
    session.flush()
    session.add(Answer(run_id=run.id, call_id=call.id, cost=0.5, **place))
    for variant in variants:
        variant.run_id, variant.prompt_version_id = run.id, prompt.id
        variant.provider, variant.model = "openai", HOSTILE


Reported = tuple[Engine, Release, Report]


@pytest.fixture
def reported(engine: Engine) -> Reported:
    """Two families: accepted, edited, rejected, settled, and accepted by a rule, with hostile
    names."""
    with writing(engine) as session:
        first, second = add_full(session), add_full(session, "Door 2 is safe.", subject="door")
        session.get_one(Source, 1).name = HOSTILE
        written_by_a_model(session, [first["verbal"], first["lexical"]])
        ada, bea, cleo = (person(session, name) for name in ("Ada Lovelace", "Bea", "Cleo"))
        for variant in (first["verbal"], first["lexical"], first["word"], second["affixal"]):
            accept(session, variant, ada)
        edit(session, first["phrase"], ada, "I'm not wholly sure, but the bridge seems safe.")
        reject(session, second["verbal"], ada)
        blind = [
            shown(session.get_one(Variant, variant.id), at=MOMENT, blind=True)
            for variant in (first["verbal"], second["affixal"])
        ]
        deciding.accept(session, blind[0], reviewer_id=bea)
        deciding.reject(session, blind[1], reviewer_id=bea, reason="wrong_type")
        deciding.accept(session, shown_to_settle(session, second["affixal"].uid), reviewer_id=cleo)
        measure_variants(session, [one["negated_antonym"].id for one in (first, second)])
        rule, types = parse_rule("levenshtein < 40"), ("negated_antonym",)
        apply_rule(engine_of(session), rule, verdict=Verdict.ACCEPT, reviewer_id=cleo, types=types)
        release = freeze(session, name=HOSTILE).release
        return engine, release, report(session, release)


@pytest.mark.slow
@both_databases
def test_the_reports_figures_are_those_of_the_release(reported: Reported) -> None:
    _, release, found = reported
    summary = release.summary
    whole = [summary["anchors"], summary["variants"], summary["triples"]]
    assert table(found, "splits")["all"] == whole
    assert {row: cells[-2] for row, cells in table(found, "types").items()} == summary["types"]
    assert table(found, "review")["verbal"] == [1, 0, 1, 0, 0, "50.0%"]
    assert table(found, "reasons") == {"none given": [0, 1], "wrong type": [1, 0]}
    assert 2 in [cells[0] for row, cells in table(found, "accepted-by").items() if "rule" in row]
    assert table(found, "rules") == {"levenshtein < 40": ["accept", 2]}
    assert table(found, "sources") == {HOSTILE: ["CC BY 4.0", summary["variants"], "–", "–"]}
    assert (found.release, found.content_hash) == (1, release.content_hash)
    # Who wrote, and what that cost.
    assert table(found, "writers")["openai"] == [HOSTILE, "negation v3", 2, 2, "0.5000"]
    for fact in (
        " 0.5000 US dollars",
        "1 were edited",
        "1 variant: 1 settled by 1 person, 0 still",
    ):
        assert fact in text_of(found)
    # How reviewers agreed, without their names.
    assert table(found, "reviewers") == {"Reviewer 1": [4, 1, 1, 6], "Reviewer 2": [1, 1, 0, 2]}
    assert table(found, "agreement")["all"][:2] == [2, "50.0%"]
    assert not any("Lovelace" in text(found, form) for form in Form)


@pytest.mark.slow
def test_decisions_after_the_release_are_left_out(reported: Reported) -> None:
    engine, release, found = reported
    with writing(engine) as session:
        late = add_full(session, "Gate 3 is safe.", subject="gate")
        accept(session, late["verbal"], person(session, "Dora"))
        assert report(session, session.get_one(Release, release.id)) == found


@pytest.mark.slow
def test_the_reports_latex_is_balanced_whatever_the_texts_say(reported: Reported) -> None:
    latex = text(reported[2], Form.LATEX)
    verbatim = r"(\\begin\{verbatim\}).*?(\\end\{verbatim\})"
    outside = re.sub(verbatim, r"\1\2", latex, flags=re.DOTALL)
    open_ones: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", outside):
        if what == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    assert not open_ones and latex.count(r"\begin{verbatim}") == latex.count(r"\end{verbatim}") == 2
    assert r"\input" not in latex.replace(r"\textbackslash{}input", "")
    unescaped = re.sub(r"\\.", "", latex)
    assert unescaped.count("{") == unescaped.count("}")
    tables = re.findall(r"\\begin\{tabular\}\{([^\n]*)\}\n(.*?)\\end\{tabular\}", latex, re.DOTALL)
    assert len(tables) >= 9
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert latex.count(rule) == len(tables)
    for columns, inside in tables:
        cells = len(re.sub(r"\{.*?\}", "", columns))
        rows = [line for line in inside.splitlines() if line.endswith(r" \\")]
        assert len(rows) > 1 and {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {cells - 1}
        assert not any(row.startswith(("[", "*")) for row in rows)


@pytest.mark.slow
def test_the_reports_markdown_has_no_markup_of_others(reported: Reported) -> None:
    markdown = text(reported[2], Form.MARKDOWN)
    assert markdown.startswith("# Data: release 1\n") and markdown.count("\n```") == 4
    assert "<img" not in re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)


def test_people_without_common_variants_are_reported(session: Session) -> None:
    accept(session, add_full(session)["verbal"], person(session))
    output = text_of(report(session, freeze(session).release))
    for fact in ("No two people", "No variant was decided by a rule", "no disagreements"):
        assert fact in output
