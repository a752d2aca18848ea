"""The data section of a paper: its figures match the database, and its LaTeX is complete."""

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.diagnostics.measuring import measure_variants
from curation.release.freezing import create_release
from curation.release.report.parts import Report, Table
from curation.release.report.sections import report
from curation.release.report.writing import Form, text
from curation.review import actions
from curation.review.actions import shown
from curation.review.bulk import apply_rule, parse_rule
from curation.review.settling import shown_to_settle
from db.engine import reading, writing
from db.models import (
    Answer,
    CallState,
    ModelCall,
    PromptVersion,
    Release,
    Run,
    RunState,
    Source,
    Variant,
    Verdict,
)
from tests.curation.support.deciding import MOMENT, accept, edit, reject
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, person

HOSTILE = r"\end{verbatim}\input{/etc/passwd} & % $x$ _#^~ | <img src=x> [2cm] *"

pytestmark = both_databases


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


@pytest.fixture
def released(engine: Engine) -> tuple[Engine, Release]:
    """Two families: accepted, edited, rejected, settled, and accepted by a rule, with hostile
    names."""
    with writing(engine) as session:
        first, second = add_family(session), add_family(session, "Door 2 is safe.", subject="door")
        session.get_one(Source, 1).name = HOSTILE
        written_by_a_model(session, [first["verbal"], first["lexical"]])
        ada, bea, cleo = (person(session, name) for name in ("Ada Lovelace", "Bea", "Cleo"))
        for type_id in ("verbal", "lexical", "word"):
            accept(session, first[type_id], ada)
        blind = shown(session.get_one(Variant, first["verbal"].id), at=MOMENT, blind=True)
        actions.accept(session, blind, reviewer_id=bea)
        edit(session, first["phrase"], ada, "I'm not wholly sure, but the bridge seems safe.")
        reject(session, second["verbal"], ada)
        accept(session, second["affixal"], ada)
        blind = shown(session.get_one(Variant, second["affixal"].id), at=MOMENT, blind=True)
        actions.reject(session, blind, reviewer_id=bea, reason="wrong_type")
        settling = shown_to_settle(session, second["affixal"].uid)
        actions.accept(session, settling, reviewer_id=cleo)
        antonyms = [family["negated_antonym"].id for family in (first, second)]
        measure_variants(session, antonyms)
        apply_rule(
            session,
            parse_rule("levenshtein < 40"),
            verdict=Verdict.ACCEPT,
            reviewer_id=cleo,
            types=("negated_antonym",),
        )
        release = create_release(session, name=HOSTILE).release
    return engine, release


@pytest.fixture
def found(released: tuple[Engine, Release]) -> Report:
    engine, release = released
    with reading(engine) as session:
        return report(session, release)


def test_its_figures_are_those_of_the_release(
    released: tuple[Engine, Release], found: Report
) -> None:
    _, release = released
    summary = release.summary
    assert table(found, "splits")["all"] == [
        summary["anchors"],
        summary["variants"],
        summary["triples"],
    ]
    assert {row: cells[-2] for row, cells in table(found, "types").items()} == summary["types"]
    assert table(found, "review")["verbal"] == [1, 0, 1, 0, 0, "50.0%"]
    assert table(found, "reasons") == {"none given": [0, 1], "wrong type": [1, 0]}
    assert table(found, "accepted-by")["a rule over measures, which a person applied"][0] == 2
    assert table(found, "rules") == {"levenshtein < 40": ["accept", 2]}
    assert table(found, "sources") == {HOSTILE: ["CC BY 4.0", summary["variants"], "–", "–"]}
    assert (found.release, found.content_hash) == (1, release.content_hash)


def test_it_says_who_wrote_and_what_that_cost(found: Report) -> None:
    assert table(found, "writers")["openai"] == [HOSTILE, "negation v3", 2, 2, "0.5000"]
    assert "Writing the variants cost 0.5000 US dollars in total." in text_of(found)
    assert "Of the released texts, 1 were edited by a person" in text_of(found)


def test_it_says_how_reviewers_agreed_and_names_none_of_them(found: Report) -> None:
    assert table(found, "reviewers") == {
        "Reviewer 1": [4, 1, 1, 6],
        "Reviewer 2": [1, 1, 0, 2],
    }
    assert (
        "Reviewers disagreed about 1 variant: 1 settled by 1 person, 0 still in conflict. The "
        "release has 1 settled variant." in text_of(found)
    )
    assert table(found, "agreement")["all"][:2] == [2, "50.0%"]
    for form in Form:
        assert "Lovelace" not in text(found, form)


@one_database
def test_decisions_after_the_release_are_left_out(released: tuple[Engine, Release]) -> None:
    engine, release = released
    with writing(engine) as session:
        before = report(session, session.get_one(Release, release.id))
        late = add_family(session, "Gate 3 is safe.", subject="gate")
        accept(session, late["verbal"], person(session, "Dora"))
        assert report(session, session.get_one(Release, release.id)) == before


def environments(latex: str) -> Iterator[tuple[str, str]]:
    """(begin or end, name) of all environments outside verbatim text."""
    outside = re.sub(
        r"(\\begin\{verbatim\}).*?(\\end\{verbatim\})", r"\1\2", latex, flags=re.DOTALL
    )
    yield from re.findall(r"\\(begin|end)\{([a-z*]+)\}", outside)


@one_database
def test_its_latex_is_balanced_whatever_the_texts_say(found: Report) -> None:
    latex = text(found, Form.LATEX)
    open_ones: list[str] = []
    for what, name in environments(latex):
        if what == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    assert not open_ones
    assert latex.count(r"\begin{verbatim}") == latex.count(r"\end{verbatim}") == 2
    assert r"\input" not in latex.replace(r"\textbackslash{}input", "")
    unescaped = re.sub(r"\\.", "", latex)
    assert unescaped.count("{") == unescaped.count("}")
    for commands in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert latex.count(commands) == latex.count(r"\begin{tabular}")


@one_database
def test_each_row_has_the_cells_of_its_table(found: Report) -> None:
    latex = text(found, Form.LATEX)
    tables = re.findall(r"\\begin\{tabular\}\{([^\n]*)\}\n(.*?)\\end\{tabular\}", latex, re.DOTALL)
    assert len(tables) >= 9
    for columns, body in tables:
        number = len(re.sub(r"\{.*?\}", "", columns))
        rows = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert len(rows) > 1
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == number - 1
            assert not row.startswith(("[", "*"))


@one_database
def test_its_markdown_has_no_markup_of_others(found: Report) -> None:
    markdown = text(found, Form.MARKDOWN)
    assert markdown.startswith("# Data: release 1\n")
    assert "<img" not in re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)
    assert markdown.count("\n```") == 4


def test_people_without_common_variants_are_reported(engine: Engine) -> None:
    with writing(engine) as session:
        accept(session, add_family(session)["verbal"], person(session))
        output = text_of(report(session, create_release(session).release))
    assert "No two people decided on the same variant independently" in output
    assert "No variant was decided by a rule over measures." in output
    assert "There were no disagreements between reviewers." in output
