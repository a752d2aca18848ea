"""Fixtures for the tests of the commands."""

from tests.support.generating import serve_chat as serve_chat
from tests.training.conftest import tiny_encoder as tiny_encoder
