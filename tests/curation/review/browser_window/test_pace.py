"""The number of a reviewer's decisions today, and their speed."""

from curation.review.browser_window.pace import ReviewPace


def test_an_undone_decision_is_not_in_the_number_or_the_rate() -> None:
    pace = ReviewPace()
    for number in range(5):
        pace.did(f"action {number}")
    assert pace.summary().startswith("5 decisions today, about ")
    for number in range(1, 5):
        pace.undid(f"action {number}")
    assert pace.summary() == "1 decision today"
