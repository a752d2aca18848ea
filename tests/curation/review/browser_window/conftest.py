"""The project that a reviewer's window shows."""

import pytest

from curation.review.browser_window.key_actions import ReviewState
from tests.curation.review.desk import Desk


@pytest.fixture
def desk(state: ReviewState) -> Desk:
    """Three families; their verbal variants are 1, 8 and 15."""
    return Desk(state.engine)
