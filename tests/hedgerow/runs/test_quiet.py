"""Warnings of libraries are only in the log."""

import logging
import warnings
from pathlib import Path

import pytest

from curation.encoders.loading import load_encoder
from hedgerow.runs.quiet import quietly
from tests.support.checkpoints import checkpoint


def test_a_warning_is_logged_and_not_shown(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with quietly():
        warnings.warn("too old", FutureWarning, stacklevel=1)
        logging.getLogger("somebody").warning("not heard")
    assert "FutureWarning: too old" in caplog.text
    assert capfd.readouterr().err == ""


def test_afterwards_warnings_are_as_they_were() -> None:
    before, handlers = warnings.showwarning, list(logging.getLogger().handlers)
    with pytest.raises(ZeroDivisionError), quietly():
        raise ZeroDivisionError
    assert warnings.showwarning is before and logging.getLogger().handlers == handlers


def test_a_warning_filtered_as_an_error_raises_one() -> None:
    warnings.simplefilter("error", FutureWarning)
    with quietly(), pytest.raises(FutureWarning):
        warnings.warn("too old", FutureWarning, stacklevel=1)


@pytest.mark.slow
def test_weights_that_an_encoder_does_not_use_are_logged_and_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    tiny = checkpoint("BertForMaskedLM", tmp_path / "tiny")
    capfd.readouterr()
    for _ in range(2):
        caplog.clear()
        load_encoder(str(tiny))
        assert "LOAD REPORT" in caplog.text
    assert capfd.readouterr().err == ""
    assert not logging.getLogger("transformers").propagate
