"""What doctor says of the models that tools are given. No server is asked: that could cost money."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from .findings import Finding

if TYPE_CHECKING:
    from ..runtime import SyncRuntime


def of_models(runtime: SyncRuntime) -> list[Finding]:
    """One line for each [models.<name>], and whether what reaches them is installed."""
    from ..host.http import shown_url

    models = runtime.settings.config.models
    found: list[Finding] = []
    kinds: set[str] = set()
    for name, model in models.items():
        use = f"by switch_* to {name!r}" if model.kind in kinds else "in use"
        kinds.add(model.kind)
        named = f"{model.model!r} at " if model.model else ""
        key = "with a key" if model.api_key else "without a key"
        said = f"{model.kind}, {use}: {named}{shown_url(model.base_url)} {key} ({model.where})"
        found.append(Finding(about=f"model {name}", state="ok", said=said))
    if models and importlib.util.find_spec("httpx2") is None:
        said = "httpx2, by which models are reached, is not installed"
        found.append(Finding(about="models", state="problem", said=said, do="pip install 'sutler[models]'"))
    return found
