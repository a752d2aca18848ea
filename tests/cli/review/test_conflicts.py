"""Conflicts and “discuss” marks on the command line."""

from pathlib import Path

from tests.cli.review.test_decision import pending
from tests.cli.support.commands import ask, complaint, show


def test_conflicts_are_listed_with_each_persons_verdict(loaded_home: Path) -> None:
    uid, *_ = pending(loaded_home)
    assert show("review", "conflicts").startswith("In conflict: 0 variants.")
    ask("review", "accept", uid, "--reviewer", "Ann")
    ask("review", "reject", uid, "--reviewer", "Bo", "--reason", "wrong_scope", "--note", "Narrow.")
    answer = ask("review", "conflicts", "--order", "most-disputed")
    (found,) = answer["conflicts"]
    assert (found["uid"], found["people"], found["dispute"]) == (uid, 2, 1)
    verdicts = [(v["reviewer"], v["verdict"], v["reason"], v["note"]) for v in found["verdicts"]]
    assert verdicts == [("Ann", "accept", "", ""), ("Bo", "reject", "wrong_scope", "Narrow.")]
    assert ask("review", "conflicts", "--type", "word")["conflicts"] == []
    assert "Expected" in complaint("review", "conflicts", "--source", "nowhere")


def test_a_variant_is_marked_and_the_mark_lifted(loaded_home: Path) -> None:
    uid, *_ = pending(loaded_home)
    answer = ask("review", "discuss", uid, "--reviewer", "Ann", "--remark", "Is it?")
    assert answer == {"variant": uid, "marked": True}
    (found,) = ask("review", "conflicts")["to_discuss"]
    assert (found["uid"], found["reviewer"], found["remark"]) == (uid, "Ann", "Is it?")
    assert "already" in complaint("review", "discuss", uid, "--reviewer", "Bo")
    assert ask("review", "discuss", uid, "--lift", "--reviewer", "Bo")["marked"] is False
    assert "no mark to remove" in complaint("review", "discuss", uid, "--lift", "--reviewer", "Bo")
    assert "marked for discussion again" in show("review", "undo", "--reviewer", "Bo")
    assert len(ask("review", "conflicts")["to_discuss"]) == 1
