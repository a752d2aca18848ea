"""Assignment on the command line."""

from pathlib import Path

from curation.review.assignment.plan import Plan
from tests.cli.review.test_decision import pending
from tests.cli.support.commands import ask, complaint, show


def test_an_assignment_is_set_shown_changed_and_ended(loaded_home: Path) -> None:
    assert show("review", "assign").strip() == "One person decides on each variant."
    answer = ask("review", "assign", "--reviewers", "3", "--share", "0.4")
    assert (answer["reviewers"], answer["share"]) == (3, 0.4)
    chosen = [uid for uid in pending(loaded_home) if Plan(3, 0.4).wanted(uid) == 3]
    assert answer["verdicts"]["verbal"] == [len(chosen), 0, 0, 0] and chosen
    ask("review", "accept", chosen[0], "--reviewer", "Ann")
    ask("review", "reject", chosen[0], "--reviewer", "Bo", "--reason", "wrong_scope")
    assert ask("review", "conflicts")["conflicts"] == []
    problem = complaint("review", "settle", chosen[0], "accept", "--reviewer", "Ann")
    assert "Not everybody assigned to" in problem
    answer = ask("review", "assign", "--reviewers", "2")
    assert (answer["reviewers"], answer["share"]) == (2, 0.4)
    assert answer["verdicts"]["verbal"] == [len(chosen) - 1, 0, 1]
    assert [one["uid"] for one in ask("review", "conflicts")["conflicts"]] == [chosen[0]]
    assert ask("review", "assign", "--share", "0")["verdicts"] == {}
    assert show("review", "assign").strip() == "One person decides on each variant."


def test_values_out_of_range_are_refused(loaded_home: Path) -> None:
    assert "2 to 5 reviewers" in complaint("review", "assign", "--reviewers", "1", "--share", "1")
    assert "a share from 0 to 1" in complaint("review", "assign", "--share", "20")
    assert ask("review", "assign")["reviewers"] == 1


def test_a_quota_is_set_counted_and_removed(loaded_home: Path) -> None:
    for uid in pending(loaded_home)[:2]:
        ask("review", "accept", uid, "--reviewer", "Ann")
    answer = ask("review", "quota", "ann", "10", "--type", "verbal")
    expected = {"reviewer": "Ann", "type": "verbal", "quota": 10, "done": 2}
    assert answer == {"quotas": [expected]}
    assert ask("review", "assign")["quotas"] == [expected]
    assert "10" in show("review", "assign")
    assert "There is no person" in complaint("review", "quota", "Nobody", "10")
    assert "no quota for all types" in complaint("review", "quota", "Ann", "--remove")
    assert "0 to" in complaint("review", "quota", "Ann", "--", "-1")
    assert ask("review", "quota", "Ann", "--type", "verbal", "--remove") == {"quotas": []}
