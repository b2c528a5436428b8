"""The MCP servers of one runtime: their sessions, and the sources they are. Without any, nothing of this is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import SourceError
from ..mcp.host_configs import HostFile, Surroundings, read_host_files
from ..mcp.logins import Logins
from ..mcp.manager import ServerManager
from ..mcp.portal import HostLoop
from ..mcp.source import McpToolSource
from ..policy.trust import TrustStore
from ..servers import ServerSpec
from ..sources.cache import cache_dir
from .elicitation import ask_person

if TYPE_CHECKING:
    from .core import Core

PATIENCE = 15.0  # seconds
CHANGED = "sutler/changed"  # as a notice of a server: its state or its tools may be others than before
IN_VAIN = 1.4  # seconds: a server that was waited for so long, and is unknown still, is not waited for again
FIRST_LOOK = 1.7  # seconds that an opening runtime waits for servers it has never seen: it is open within 2 s (MCP-03)


class Servers:
    """Made only when a config names servers or files of other hosts. `files`: those files, for doctor."""

    def __init__(self, core: Core) -> None:
        config = core.settings.config
        around = Surroundings.here(config.folder, TrustStore())
        self.files: list[HostFile] = read_host_files(config.host_configs, around)
        specs: list[ServerSpec] = [*config.mcp_servers, *(spec for file in self.files for spec in file.servers)]
        for spec in specs:
            for secret in spec.secrets:
                core.recorder.secrets.register(secret)
        self._core = core
        self.specs = tuple(specs)
        self.hears: Callable[[str, str, Mapping[str, Any]], object] | None = None
        self.manager = ServerManager(
            specs,
            cache_dir=cache_dir() / "servers",
            on_change=self._changed,
            on_notification=self._notified,
            ask=partial(ask_person, core, None),
            auth=_auth,
            portal=HostLoop(core.places.host_loop) if core.options.share_loop and core.places.host_loop else None,
        )
        self.sources = tuple(McpToolSource(self.manager, spec, steady=True) for spec in specs)

    def start(self) -> None:
        """Connects in the background; waits a moment for those whose tools are not remembered from before."""
        unknown = [spec.id for spec in self.specs if spec.required or self.manager.version(spec.id) == 0]
        if unknown:
            self.manager.start(*unknown)
        if not self._core.options.lazy_servers:
            self.manager.start()
        if hopeful := [one for one in unknown if not self.manager.silent(one, IN_VAIN)]:
            self.manager.wait(FIRST_LOOK, hopeful)
        required = [spec.id for spec in self.specs if spec.required]
        if required and self.manager.missing():
            self.manager.wait(self._longest(), required)
            if missing := self.manager.missing():
                raise SourceError("servers that are required cannot be had: " + "; ".join(missing))

    def awaited(self) -> bool:
        """Whether a server whose tools were never seen may still come."""
        unseen = [state for state in self.manager.states() if self.manager.version(state.id) == 0]
        return any(state.state not in ("disabled", "unavailable", "stopped") for state in unseen)

    def wait_connected(self) -> bool:
        """`wait` for as long as a command waits at the most (MCP-03)."""
        return self.wait(PATIENCE)

    def _longest(self) -> float:
        return max((spec.connect_timeout for spec in self.specs), default=0.0)

    def wait(self, seconds: float) -> bool:
        """Until every started server is ready or has failed."""
        return self.manager.wait(seconds)

    def _changed(self, server: str) -> None:
        """On the portal's thread: the next inventory asks this server's source anew."""
        self._core.toolbox.refresh(server)
        self._notified(server, CHANGED, {})

    def _notified(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """On the portal's thread: what a server tells, for a face that passes it on."""
        if self.hears is not None:
            self.hears(server, method, params)

    def close(self) -> tuple[str, ...]:
        return self.manager.close()

    @property
    def loop(self) -> Any:
        return self.manager.portal.loop


def _auth(spec: ServerSpec) -> Any:
    """What sends the login that is kept for a server, unless its config says who we are (MCP-01)."""
    if any(name.lower() == "authorization" for name in spec.headers):
        return None
    from ..mcp.bearer import Bearer

    logins = Logins()
    return Bearer(spec.url, logins.of(spec.url), logins)
