"""The manager against a server of the SDK, in both eras."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sutler.errors import ToolError, ToolTimeout
from sutler.servers import ServerSpec

from .conftest import Servers

SERVER = Path(__file__).with_name("sdk_server.py")


@pytest.mark.requirement("MCP-09", "MCP-10", "MCP-13")
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_server_of_the_sdk_is_called_cancelled_asked_and_listened_to(servers: Servers, era: str) -> None:
    spec = ServerSpec(
        id="s", command=sys.executable, args=(str(SERVER), str(servers.folder)), cwd=servers.folder, era=era
    )  # type: ignore[arg-type]
    manager = servers.manager(spec, ask=lambda request: {"colour": "blue"})
    assert manager.state("s").era.startswith(era)
    assert servers.call(manager, "add", args={"a": 1, "b": 2}).structured == {"result": 3}
    with pytest.raises(ToolTimeout):
        servers.call(manager, "nap", timeout=0.2)
    servers.until(lambda: servers.call(manager, "cancelled").structured == {"result": ["nap"]})
    servers.call(manager, "grow")
    servers.until(lambda: manager.version("s") == 2)
    assert str(manager.changes("s")[0]) == "added grown"
    if era == "legacy":
        assert servers.text(manager, "ask") == "accept"
    else:
        with pytest.raises(ToolError, match='set era = "legacy" for it'):
            servers.call(manager, "ask")
