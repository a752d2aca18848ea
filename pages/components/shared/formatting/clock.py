"""Times as the reader's own clock has them; the database keeps them in UTC."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import streamlit as st


def local(moment: datetime) -> datetime:
    """A moment where this browser is."""
    try:
        zone = ZoneInfo(st.context.timezone or "UTC")
    except (KeyError, ValueError, OSError):
        zone = ZoneInfo("UTC")
    return moment.astimezone(zone)


def midnight() -> datetime:
    """When the day began where this browser is, in UTC."""
    today = local(datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
    return today.astimezone(UTC)
