"""Times in the reader's time zone. The database stores them in UTC."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import streamlit as st


def local(moment: datetime) -> datetime:
    """The time in the browser's time zone; in UTC if that is unknown."""
    try:
        zone = ZoneInfo(st.context.timezone or "UTC")
    except (KeyError, ValueError, OSError):
        zone = ZoneInfo("UTC")
    return moment.astimezone(zone)


def midnight() -> datetime:
    """The start of the day in the browser's time zone, as a time in UTC."""
    today = local(datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
    return today.astimezone(UTC)
