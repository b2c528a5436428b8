"""The sources a runtime starts with, each through the ordinary door, in the order that ties are broken by."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..policy.sources import hidden_by
from ..sources.config import ConfigToolSource
from ..sources.defaults import default_source
from ..sources.plugins import plugin_sources
from ..sources.virtual import VirtualToolSource
from ..toolbox import Toolbox

if TYPE_CHECKING:
    from .core import Core


def build_toolbox(core: Core) -> Toolbox:
    """Precedence is each source's own; the order only says who keeps an id that two want, so folders come late."""
    options, settings = core.options, core.settings
    config = settings.config
    guards = settings.policy.guards
    screen = partial(hidden_by, guards) if guards else None
    toolbox = Toolbox(grade_overrides=config.grades, hold=core.pins.hold, screen=screen)
    if settings.default_tools:
        toolbox.add_source(default_source())
    if config.tools:
        toolbox.add_source(ConfigToolSource(config.tools, config.folder))
    if config.virtual_tools:
        toolbox.add_source(VirtualToolSource(config.virtual_tools, options.harness_resolver))
    toolbox.add_source(core.code)
    toolbox.add_source(core.functions)
    for source in core.libraries.open():
        toolbox.add_source(source)
    if core.servers is not None:
        for source in core.servers.sources:
            source.steady = True  # it tells when it changes
            toolbox.add_source(source)
    if options.plugins:
        for source in plugin_sources():
            toolbox.add_source(source)
    for source in options.sources:
        toolbox.add_source(source)
    return toolbox
