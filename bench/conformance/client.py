"""The client that the official conformance suite drives: one scenario through a runtime.

The suite starts it with the address of its mock server as the last argument, and says in the environment which
scenario is meant (MCP_CONFORMANCE_SCENARIO), which revision the mock speaks (MCP_CONFORMANCE_PROTOCOL_VERSION) and
what the scenario gives to work with (MCP_CONFORMANCE_CONTEXT, JSON). It judges what reaches the mock; here nothing is
asserted but that the tools are there. Ends with 1 when they are not.

The server is a table of a sutler.toml like anybody's, the calls go through the whole pipeline, and a login is the one
of `sutler login`, with a person whose browser says yes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sutler.errors import ToolUnavailable

SERVER = "conformance"
MODERN = "2026-07-28"
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"  # what the suite expects of a client by address
LOGINS = 3  # one at the start, one for a scope that a call lacks, and one to see that there is an end to it
STUBS: Mapping[str, Any] = {
    "string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": [], "null": None
}  # fmt: skip


class SaysYes:
    """A person who accepts every form, with its defaults and a yes to what has none."""

    takes_forms = True

    def __call__(self, request: Mapping[str, Any]) -> dict[str, Any]:
        fields: Mapping[str, Any] = (request.get("schema") or {}).get("properties") or {}
        answers = {name: field["default"] for name, field in fields.items() if "default" in field}
        return answers | {name: True for name, field in fields.items() if field == {"type": "boolean"}}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def browse(address: str) -> None:
    """Open the page to log in at, and follow it back, as a browser would after a yes."""
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        opener.open(address, timeout=20).read()
    except urllib.error.HTTPError as answer:
        if back := answer.headers.get("location"):
            urllib.request.urlopen(back, timeout=20).read()


def config(folder: Path, address: str, given: Mapping[str, Any]) -> Path:
    """The sutler.toml of this scenario."""
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", MODERN)
    era = "auto" if version >= MODERN else "legacy"
    lines = [f"[mcp_servers.{SERVER}]", f"url = {json.dumps(address)}", "connect_timeout = 60", f'era = "{era}"']
    oauth = {"client_id": given.get("client_id", CLIENT_METADATA)}
    if secret := given.get("client_secret"):
        oauth["client_secret"] = secret
    lines += [f"[mcp_servers.{SERVER}.oauth]", *(f"{key} = {json.dumps(value)}" for key, value in oauth.items())]
    file = folder / "sutler.toml"
    file.write_text("\n".join(lines))
    return file


class Scenario:
    """One run of the client: a runtime over the mock, and a login whenever one is wanted."""

    def __init__(self, rt: Any) -> None:
        self.rt = rt
        self._logins = 0
        assert rt.core.servers is not None
        self.servers = rt.core.servers
        (self.spec,) = self.servers.specs

    def tools(self) -> list[Any]:
        """The tools of the mock, once it lets us in."""
        self.rt.ready(60)
        while self.servers.manager.state(SERVER).state == "auth_required" and self.log_in():
            with suppress(ToolUnavailable):  # it may want another one
                self.servers.manager.portal.run(self.servers.manager.client(SERVER))
        state = self.servers.manager.state(SERVER)
        if state.state != "ready":
            sys.exit(f"{state.state}: {state.reason}")
        return [row.spec for row in self.rt.inventory().rows]

    def log_in(self) -> bool:
        """`sutler login`. False when enough is enough."""
        from sutler.mcp.logins import Logins
        from sutler.mcp.oauth import login

        self._logins += 1
        if self._logins > LOGINS:
            return False

        async def person() -> None:
            loop = asyncio.get_running_loop()
            await login(self.spec, Logins(), lambda page: loop.run_in_executor(None, browse, page), seconds=30)

        asyncio.run(person())
        return True

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """A call; made again after a login where the server says that it wants more of one."""
        while True:
            result = self.rt.call(f"{SERVER}::{name}", dict(arguments))
            print(f"{name}: {result.error or result.output!r}", file=sys.stderr)
            wanted = result.error is not None and "sutler login" in str(result.error)
            if not wanted or not self.log_in():
                return result

    def passed_on(self) -> None:
        """A resource and a prompt, which a server face passes on as they are."""

        async def both() -> None:
            client = await self.servers.manager.client(SERVER)
            for resource in (await client.list_resources()).resources[:1]:
                await client.read_resource(resource.uri)
            for prompt in (await client.list_prompts()).prompts[:1]:
                await client.get_prompt(prompt.name)

        self.servers.manager.portal.run(both())


def play(scenario: Scenario, name: str, given: Mapping[str, Any]) -> None:
    """What the suite waits for in the scenario of this name; where it is no other, list and call every tool."""
    tools = scenario.tools()
    match name:
        case "initialize" | "json-schema-ref-no-deref":
            return
        case "tools_call" | "request-metadata":
            scenario.call("add_numbers", {"a": 5, "b": 3})
        case "json-schema-2020-12-preservation":
            (focal,) = [tool for tool in tools if tool.name == "json_schema_2020_12_tool"]
            scenario.call("json_schema_echo", {"schema": focal.input_schema})
        case "http-custom-headers":
            listed = {tool.name for tool in tools}
            for call in given.get("toolCalls", []):
                if call["name"] in listed:
                    scenario.call(call["name"], call.get("arguments") or {})
        case "sep-2322-client-request-state":
            for suffix in ("echo_state", "unrelated", "no_state", "no_result_type"):
                scenario.call(f"test_mrtr_{suffix}", {})
        case _:
            for tool in tools:
                scenario.call(tool.name, stubs(tool.input_schema))
    if name == "http-standard-headers":
        scenario.passed_on()


def stubs(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The least that a schema asks for."""
    fields: Mapping[str, Any] = schema.get("properties") or {}
    return {name: STUBS.get(fields.get(name, {}).get("type"), "x") for name in schema.get("required") or []}


def main() -> None:
    address = sys.argv[-1]
    given: Mapping[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["SUTLER_STATE_DIR"] = str(folder / "state")
        os.environ["SUTLER_CACHE_DIR"] = str(folder / "cache")
        from sutler import SyncRuntime

        with SyncRuntime(
            config=config(folder, address, given),
            default_tools=False,
            plugins=False,
            policy="full_access",
            user_interaction_handler=SaysYes(),
        ) as rt:
            play(Scenario(rt), os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), given)


if __name__ == "__main__":
    main()
