"""sutler.toml: found, checked key by key, and merged with the user's own (CFG-01, TRU-01)."""

from __future__ import annotations

from ..limits import Limits
from ..tables import ArgTable, ToolTable, to_input_schema
from .find import FILE_NAME, find_config, read_config, user_config_file
from .load import load, load_text
from .values import AUTONOMY_LEVELS, LANGUAGE_LEVELS, Config, PolicyTable, Profile, WorkspaceTable

__all__ = [
    "AUTONOMY_LEVELS",
    "FILE_NAME",
    "LANGUAGE_LEVELS",
    "ArgTable",
    "Config",
    "Limits",
    "PolicyTable",
    "Profile",
    "ToolTable",
    "WorkspaceTable",
    "find_config",
    "load",
    "load_text",
    "read_config",
    "to_input_schema",
    "user_config_file",
]
