"""The official conformance suite against both faces: `python -m bench.conformance [client|core|server] ...`.

core: our client (`client.py`) against the 18 scenarios of the suite `core`; client: against every one that is no
extension. server: the SDK's own everything-server, direct and then behind `sutler serve`: no check that passes direct
may fail behind. Without a word: core and server; any other word is a client scenario by its name. Node 22, the suite
and the SDK's sources are fetched at pinned versions into the user's cache; where they cannot be had, a word says so and
the end is 0. Ends with 1 when something fails.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import platformdirs

SUITE = "0.2.0-alpha.12"
NODE = "22"
CACHE = Path(platformdirs.user_cache_dir("sutler-conformance"))
ROOT = Path(__file__).parents[2]
MOST = 600  # seconds of one run of the suite
ABOUT = re.compile(r"^auth/(?:client-credentials|dpop|enterprise|wif)|^sep-2640|^tasks-")  # extensions

Verdicts = dict[tuple[str, str], Counter[str]]


class Missing(Exception):
    """What the suite needs, and cannot be had here."""


def suite() -> list[str]:
    """The command of the suite, fetched when it was not."""
    program = CACHE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    if not program.exists():
        _run(
            "npm",
            "install",
            "--silent",
            "--prefix",
            str(CACHE),
            f"node@{NODE}",
            f"@modelcontextprotocol/conformance@{SUITE}",
        )
    return [str(CACHE / "node_modules" / ".bin" / "node"), str(program)]


def everything_server() -> Path:
    """The program of the SDK's everything-server, out of the sources of the installed version."""
    sdk = f"mcp-{version('mcp')}"
    folder = CACHE / sdk / "examples" / "servers" / "everything-server"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        _run(*pip, "--dest", str(CACHE), sdk.replace("-", "=="))
        with tarfile.open(CACHE / f"{sdk}.tar.gz") as archive:
            archive.extractall(CACHE, filter="data")
    return folder / "mcp_everything_server" / "server.py"


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise Missing(said[-1] if said else str(error)) from None


def judged(*args: str) -> Verdicts:
    """One run of the suite: how often each check of each scenario came to which verdict."""
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run(
            [*suite(), *args, "--output-dir", temporary],
            cwd=ROOT, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=MOST,
        )  # fmt: skip
        found: Verdicts = {}
        for file in Path(temporary).rglob("checks.json"):
            scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", str(file.parent.relative_to(temporary)))
            for check in json.loads(file.read_text(encoding="utf-8")):
                if check["status"] in ("SUCCESS", "FAILURE", "WARNING"):
                    found.setdefault((scenario, check["id"]), Counter())[check["status"]] += 1
        return found


def counts(found: Verdicts) -> str:
    total: Counter[str] = sum(found.values(), Counter())
    return f"{total['SUCCESS']} checks pass, {total['FAILURE']} fail, {total['WARNING']} warn"


def client(scenarios: Iterable[str]) -> list[str]:
    """Our client against these scenarios, or the suite `core`. What failed."""
    command = ["client", "--command", f"{sys.executable} -m bench.conformance.client", "--timeout", "90000"]
    found: Verdicts = {}
    for scenario in scenarios:  # one at a time: many at once on a small machine are late, not wrong
        found |= judged(*command, "--scenario", scenario)
    print(f"client: {len({scenario for scenario, _ in found})} scenarios, {counts(found)}")
    return [f"client {scenario}: {check}" for (scenario, check), said in found.items() if set(said) != {"SUCCESS"}]


def scenarios(*args: str) -> list[str]:
    """The names of client scenarios, without extensions."""
    said = subprocess.run([*suite(), "list", *args], capture_output=True, text=True, check=True).stdout
    _, _, ours = said.partition("Client scenarios")
    ours, _, _ = ours.partition("Authorization server")
    return [name for name in re.findall(r"^\s*- (\S+)", ours, re.MULTILINE) if not ABOUT.match(name)]


CORE = [
    "initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "auth/metadata-default",
    "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/basic-cimd",
    "auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined",
    "auth/scope-step-up", "auth/scope-retry-limit", "auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none", "auth/pre-registration",
]  # fmt: skip


@contextmanager
def listening(*command: str, port: int, **env: str) -> Generator[str]:
    """A server while it listens on this port: its address."""
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **env}
    ) as process:
        address = f"http://127.0.0.1:{port}/mcp"
        try:
            for _ in range(300):
                if process.poll() is not None:
                    raise Missing(f"{command[1]} ended with {process.returncode}")
                try:
                    urllib.request.urlopen(address, timeout=2).read(1)
                    break
                except urllib.error.HTTPError:
                    break
                except OSError:
                    time.sleep(0.1)
            yield address
        finally:
            process.terminate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def server() -> list[str]:
    """The everything-server direct and behind `sutler serve`. What passes direct and fails behind."""
    program, port, front = everything_server(), free_port(), free_port()
    with (
        tempfile.TemporaryDirectory() as temporary,
        listening(sys.executable, str(program), "--port", str(port), port=port) as address,
    ):
        direct = judged("server", "--url", address, "--suite", "all")
        file = Path(temporary) / "sutler.toml"
        file.write_text(
            f"default_tools = false\n[workspace]\nroot = 'work'\n[policy]\nlevel = 'full_access'\n"
            f"[mcp_servers.everything]\nurl = {json.dumps(address)}\n",
            encoding="utf-8",
        )
        serve = [sys.executable, "-m", "sutler.cli", "--config", str(file), "serve", "--http", "--no-token"]
        places = {"SUTLER_STATE_DIR": f"{temporary}/state", "SUTLER_CACHE_DIR": f"{temporary}/cache"}
        with listening(*serve, "--port", str(front), port=front, **places) as gateway:
            behind = judged("server", "--url", gateway, "--suite", "all")
    print(f"server: direct {counts(direct)}; behind `sutler serve` {counts(behind)}")
    return [
        f"server {scenario}: {check} is {dict(behind.get((scenario, check), Counter()))} behind, direct {dict(said)}"
        for (scenario, check), said in direct.items()
        if said["FAILURE"] == 0 and behind.get((scenario, check), Counter())["SUCCESS"] < said["SUCCESS"]
    ]


def main() -> int:
    wanted = sys.argv[1:] or ["core", "server"]
    try:
        failed: list[str] = []
        for what in wanted:
            match what:
                case "core":
                    failed += client(CORE)
                case "client":
                    failed += client(scenarios())
                case "server":
                    failed += server()
                case scenario:
                    failed += client([scenario])
    except Missing as reason:
        print(f"skipped: {reason}")
        return 0
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
