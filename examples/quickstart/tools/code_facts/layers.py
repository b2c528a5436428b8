"""A helper module beside the library: no tool_* function, so no tool."""

from pathlib import PurePosixPath


def layer_of(path: str) -> str:
    """The folder under src/<package>/ that a module belongs to, `(top)` for none."""
    parts = PurePosixPath(path).parts
    inner = parts[parts.index("src") + 2 :] if "src" in parts else parts
    return inner[0] if len(inner) > 1 else "(top)"
