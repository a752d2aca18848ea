"""Mounting the HTTP interface. Imports are light, because the first page waits for them."""

import importlib
from functools import cache

import streamlit as st
from anyio import to_thread
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from db.settings import load_settings


def routes() -> list[BaseRoute]:
    """The interface, under the app's base path.

    Raises:
        HedgerowError: there is no token, or a token that is not usable.
    """
    token = load_settings().require_http_token()
    base = str(st.get_option("server.baseUrlPath")).strip("/")

    @cache
    def interface() -> ASGIApp:
        found: ASGIApp = importlib.import_module("pages.api.interface").interface(token)
        return found

    async def imported_first(scope: Scope, receive: Receive, send: Send) -> None:
        await (await to_thread.run_sync(interface))(scope, receive, send)

    return [Mount(f"/{base}/api" if base else "/api", imported_first)]
