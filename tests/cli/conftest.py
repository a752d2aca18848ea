"""Fixtures for the tests of the commands."""

from tests.generating import serve_chat as serve_chat
