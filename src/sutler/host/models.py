"""[models.<name>] as bindings of a client: the first of each kind is in use, the others are taken by a switch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..config.values import ModelTable
from .bindings import MODALITIES
from .openai_server import OpenAIServer

if TYPE_CHECKING:
    from .client import Client

_FIELDS = {modality.kind: field for field, modality in MODALITIES.items() if modality.kind}


def bindings_of(models: Iterable[ModelTable]) -> dict[str, dict[str, OpenAIServer]]:
    """{keyword of a client: {name of the table: its server}}."""
    found: dict[str, dict[str, OpenAIServer]] = {}
    for model in models:
        found.setdefault(_FIELDS[model.kind], {})[model.name] = OpenAIServer(
            model.base_url,
            model=model.model,
            api_key=model.api_key or None,
            timeout=model.timeout,
            vision=model.vision,
            ctx_size=model.ctx_size,
            where=model.where,
        )
    return found


def client_of(models: Iterable[ModelTable]) -> Client:
    """A client over these models."""
    from .client import Client

    return Client(**bindings_of(models))
