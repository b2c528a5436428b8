"""The time of day."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def current_time(timezone: str = "UTC") -> str:
    """The date and time now as ISO 8601 text, in UTC or a named time zone."""
    if timezone.upper() == "UTC":
        return datetime.now(UTC).isoformat(timespec="seconds")
    try:
        return datetime.now(ZoneInfo(timezone)).isoformat(timespec="seconds")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"no such time zone: {timezone!r}; write it as in Europe/Berlin") from None
