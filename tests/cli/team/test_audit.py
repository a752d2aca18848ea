"""The audit on the command line."""

from pathlib import Path

from cli.shared.home import open_home
from curation.review.notes import add_note
from db.engine import writing
from tests.cli.support.commands import ask, complaint, show
from tests.curation.support.deciding import accept, reject
from tests.support.factories import add_family, person


def test_it_is_shown_narrowed_and_written_to_a_file(tmp_path: Path) -> None:
    ask("init", "--empty")
    assert show("audit") == "No actions found.\n"
    with writing(open_home().engine) as session:
        ada, bea = person(session, "Ada"), person(session, "Bea")
        family = add_family(session)
        accept(session, family["verbal"], ada)
        reject(session, family["word"], ada)
        add_note(session, family["word"].id, reviewer_id=bea, text="=1+1")
        uid = family["word"].uid
    found = ask("audit")["entries"]
    assert [(entry["reviewer"], entry["kind"]) for entry in found] == [
        ("Bea", "note"),
        ("Ada", "reject"),
        ("Ada", "accept"),
    ]
    assert found[1]["uid"] == uid and found[1]["detail"] == "wrong type"
    assert ask("audit", "--limit", "1") == {"entries": found[:1], "more": True}
    assert ask("audit", "--reviewer", "ada", "--since", "2020-01-01")["entries"] == found[1:]
    assert ask("audit", "--until", "2020-01-01")["entries"] == []
    assert (
        ask("audit", "--text", uid, "--action", "reject", "--type", "word")["entries"] == found[1:2]
    )
    assert "there are older ones" in show("audit", "--limit", "1")
    file = tmp_path / "audit.csv"
    show("audit", "--limit", "1", "--csv", str(file))
    lines = file.read_text("utf-8-sig").splitlines()
    assert lines[0] == "at,reviewer,kind,detail,uid,type,source,text"
    assert len(lines) == 1 + 3 and ",note,'=1+1," in lines[1]
    assert "There is no reviewer 'Cleo'" in complaint("audit", "--reviewer", "Cleo")
