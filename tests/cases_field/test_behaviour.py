"""FH22, FH29 to FH32, FH34, FH35, FS01, FS15: values, threads, approvals, paths, prints and the language."""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from sutler import SyncRuntime, tool
from sutler.errors import ClosedError
from sutler.results import json_text

from .conftest import OPTIONS


@pytest.mark.requirement("RUN-09")
def test_fh22_nan_and_infinity_stay_numbers_for_programs_and_are_named_text_in_json(
    runtime: Callable[..., Any],
) -> None:
    def measure() -> dict[str, Any]:
        return {"m": math.nan, "top": math.inf, "list": [1, -math.inf]}

    rt = runtime(measure)
    result = rt.call("measure")
    text, notes = json_text(result.to_dict())
    assert json.loads(text, parse_constant=_no)["output"] == {
        "m": "NaN", "top": "Infinity", "list": [1, "-Infinity"],
    }  # fmt: skip
    assert any("m" in note for note in notes)
    json.loads(rt.model_text(result), parse_constant=_no)
    run = rt.run("x = measure()\n[x['m'] != x['m'], x['top'] > 10 ** 300, x['list'][1] + 1 < 0]")
    assert run.output == [True, True, True]
    json.loads(json_text(run.trace[0].result)[0], parse_constant=_no)


def _no(constant: str) -> None:
    raise AssertionError(f"bare {constant}")


@pytest.mark.requirement("PRG-02")
def test_fh29_the_sync_face_answers_or_fails_at_once_wherever_it_is_called() -> None:
    async def later(x: int) -> int:
        await asyncio.sleep(0.01)
        return x

    async def again(x: int) -> Any:
        return rt.call("later", {"x": x}).output  # blocks the very loop that async tools run on

    rt = SyncRuntime(tools=[later, again], **OPTIONS).open()
    began = time.monotonic()
    assert rt.call("later", {"x": 1}).output == 1

    async def main() -> Any:
        return rt.call("later", {"x": 2}).output, rt.call("again", {"x": 3}).output, rt.run("again(4)").output

    assert asyncio.run(main()) == (2, 3, 4)
    assert rt.close() == ()
    for use in (lambda: rt.call("later", {"x": 1}), lambda: rt.run("1"), rt.tools):
        with pytest.raises(ClosedError):
            use()
    assert rt.close() == ()
    assert time.monotonic() - began < 5


@pytest.mark.requirement("WSP-02")
def test_fh30_sixteen_workspaces_at_once_never_meet(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "lib.py").write_text(
        "import time\nfrom pathlib import Path\n\ndef tool_write(n: int):\n    time.sleep(0.02)\n"
        "    Path('out.txt').write_text(str(n))\n    if n == 7:\n        raise ValueError('seven')\n    return n\n"
    )
    before, here = os.getcwd(), set(os.listdir())

    def work(n: int) -> None:
        with SyncRuntime(tool_folders=[tmp_path / "tools"], workspace=tmp_path / f"w{n}", **OPTIONS) as rt:
            for _ in range(3):
                assert rt.call("tool_write", {"n": n}).success is (n != 7)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    with SyncRuntime(tool_folders=[tmp_path / "tools"], **OPTIONS) as fresh:
        root = fresh.workspace.root
        assert fresh.call("tool_write", {"n": 99}).success and (root / "out.txt").read_text() == "99"
    assert not root.exists()
    for thread in threads:
        thread.join()
    assert [(tmp_path / f"w{n}" / "out.txt").read_text() for n in range(16)] == [str(n) for n in range(16)]
    assert os.getcwd() == before and set(os.listdir()) == here


ASKS = """
import sys
from sutler import SyncRuntime
ran = []
def wipe(path: str = "/"):
    ran.append(path)
with SyncRuntime(tools=[wipe], config=False, default_tools=False, policy="strict") as rt:
    results = [rt.call("wipe"), rt.run("wipe()")]
    print([str(one.error) for one in results], ran)
    print(repr(sys.stdin.read()) if sys.stdin else None)
"""


@pytest.mark.parametrize("stdin", ["null", "closed", "pipe"])
def test_fh31_without_a_person_a_call_is_denied_at_once_and_stdin_is_left_alone(stdin: str) -> None:
    command = [sys.executable, "-c", ASKS]
    if stdin == "closed":
        command = ["sh", "-c", 'exec "$0" "$@" <&-', *command]
    given: dict[str, Any] = {"input": "y\n"} if stdin == "pipe" else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, **given)
    first, second = done.stdout.splitlines()
    assert first.endswith("[]") and first.count("nobody to ask") == 2 and "full_access" in first
    assert second == {"pipe": repr("y\n"), "null": "''", "closed": "None"}[stdin]


@pytest.mark.parametrize("face", ["call", "run"])
def test_fh32_what_was_shown_to_the_person_is_what_runs(runtime: Callable[..., Any], face: str) -> None:
    ran: list[Any] = []
    given: dict[str, Any] = {"path": "shown", "more": {"list": ["1"]}}
    shown: list[str] = []

    def wipe(path: str, more: dict[str, list[int]], deep: bool = False) -> None:
        ran.append((path, more, deep))

    def confirm(source: str, *rest: Any) -> tuple[str, str]:
        shown.append(source)
        given["path"] = "/"
        given["more"]["list"].append("666")
        given["deep"] = True
        return "allow", ""

    rt = runtime(wipe, policy="strict", confirm_handler=confirm)
    if face == "call":
        assert rt.call("wipe", given).success
    else:
        assert rt.run("wipe(**given)", params={"given": given}).success
    assert ran == [("shown", {"list": [1]}, False)]
    assert 'path="shown"' in shown[0] and "deep=false" in shown[0] and "666" not in shown[0]


@pytest.mark.requirement("WSP-03", "SRC-05")
def test_fh34_paths_outside_the_workspace_are_refused_alike_by_call_and_by_program(tmp_path: Path) -> None:
    root = tmp_path / "data"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "in.txt").write_text("inside")
    (tmp_path / "data2").mkdir()
    (tmp_path / "data2" / "x").write_text("outside")
    (root / "link").symlink_to("/etc/hostname")
    (root / "dirlink").symlink_to(tmp_path / "data2")
    bad = [
        str(tmp_path / "data2" / "x"), f"{root}/../data2/x", str(root / "link"), str(tmp_path / "DATA" / "x"), "x\0y",
        "~/.bashrc", "a/" * 2500, "dirlink/x", "../data2/x", "/etc/passwd",
    ]  # fmt: skip
    with SyncRuntime(workspace=root, config=False, plugins=False) as rt:
        for name in ("deep/in.txt", str(root / "deep" / "in.txt"), "deep/../deep/in.txt"):
            assert rt.call("read_file", {"path": name}).output == "inside"
        messages = set()
        for name in bad:
            refused = rt.call("read_file", {"path": name})
            assert not refused.success, name
            messages.add(str(refused.error).split(":")[1])
            assert not rt.run("read_file(path=p)", params={"p": name}).success
            assert not rt.call("write_file", {"path": name, "content": "x"}).success
        assert len(messages) == 1, messages
    assert (tmp_path / "data2" / "x").read_text() == "outside"


LOUD = """
import os, subprocess, sys
from sutler import tool
print("loading")

def tool_speak(word: str):
    print(word)
    sys.stdout.write(word.upper() + "\\n")
    return word

async def tool_speak_async(word: str):
    import asyncio
    print(word)
    await asyncio.sleep(0.02)
    print(word.upper())
    return word

@tool(isolation="process")
def tool_raw():
    print("python")
    os.write(1, b"raw\\n")
    subprocess.run(["echo", "child"])
    return "ok"
"""


@pytest.mark.requirement("RUN-13")
def test_fh35_prints_belong_to_their_call_also_with_four_at_once_and_the_hosts_output_stays_clean(
    runtime: Callable[..., Any], tmp_path: Path, capfd: Any
) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    rt = runtime(tool_folders=[tmp_path])
    assert rt.call("tool_speak", {"word": "first"}).stdout == "loading\nfirst\nFIRST\n"
    results: dict[str, Any] = {}

    def call(word: str) -> None:
        name = "tool_speak" if word < "e" else "tool_speak_async"
        results[word] = rt.call(name, {"word": word}).stdout

    threads = [threading.Thread(target=call, args=(word,)) for word in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {word: f"{word}\n{word.upper()}\n" for word in "abcdefgh"}
    raw = rt.call("tool_raw").stdout
    assert sorted(raw.split()) == sorted("loading python raw child".split())
    assert rt.run("tool_speak('x')\nprint('the program')").stdout == "the program\n"
    assert capfd.readouterr().out == ""


class Shade(Enum):
    RED = "red"


@dataclass
class Point:
    x: int


@pytest.mark.requirement("RUN-09")
def test_fs01_values_that_are_not_json_become_plain_data_by_the_table(runtime: Callable[..., Any]) -> None:
    def rich() -> dict[Any, Any]:
        return {
            "t": datetime(2026, 1, 2, tzinfo=UTC), "d": Decimal("1.10"), "p": Path("x"), "b": b"\xff", "s": {2, 1},
            "c": Shade.RED, 1: "intkey", "o": object(), "u": UUID(int=1), "q": Point(3), "n": (1, 2),
        }  # fmt: skip

    rt = runtime(rich)
    result = rt.call("rich")
    assert result.success and any("object" in note for note in result.notes)
    output = dict(result.output)
    assert "object object" in output.pop("o")
    assert output == {
        "t": "2026-01-02T00:00:00+00:00", "d": "1.10", "p": "x", "b": "data:application/octet-stream;base64,/w==",
        "s": [1, 2], "c": "red", "1": "intkey", "u": str(UUID(int=1)), "q": {"x": 3}, "n": [1, 2],
    }  # fmt: skip
    json.loads(json_text(result.to_dict())[0])
    assert rt.run("r = rich()\n[r['s'], r['q']['x'], r['1'], r['d']]").output == [[1, 2], 3, "intkey", "1.10"]


EVERYDAY = {
    "items()[1:]": [2, 3],
    "'a' if items() else 'b'": "a",
    "max(*items())": 3,
    "sum(x * 2 for x in items())": 12,
    "f'{1.5:.2f} {\"x\":>3}'": "1.50   x",
    "sorted(items(), key=lambda x: -x)": [3, 2, 1],
    "{x: x * x for x in items()}": {"1": 1, "2": 4, "3": 9},
    "len({x % 2 for x in items()})": 2,
    "1 < 2 < 3": True,
    "'{} {}'.format(1, 2)": "1 2",
    "try:\n    1 / 0\nexcept ZeroDivisionError:\n    r = 'caught'\nr": "caught",
    "if (n := len(items())) > 2:\n    pass\nn": 3,
    "import json\njson.dumps({'a': [1]})": '{"a": [1]}',
    "a, *rest = items()\nrest": [2, 3],
    "'x' * 3 + '-'.join(str(x) for x in items())": "xxx1-2-3",
    "next(x for x in items() if x > 1)": 2,
    "def twice(x):\n    return x * 2\n[twice(x) for x in items()]": [2, 4, 6],
    "any(x > 2 for x in items()) and not all(items()[3:])": False,
    "list(zip(items(), 'abc'))": [[1, "a"], [2, "b"], [3, "c"]],
    "n = 0\nwhile n < 3:\n    n += 1\nelse:\n    n = 10\nn": 10,
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("program", EVERYDAY)
def test_fs15_everyday_idioms_run(runtime: Callable[..., Any], program: str) -> None:
    @tool(read_only=True, open_world=False)
    def items() -> list[int]:
        return [1, 2, 3]

    run = runtime(items).run(program)
    assert run.output == EVERYDAY[program], run.error


@pytest.mark.requirement("PRG-06")
def test_fs15_refusals_come_together_each_with_line_construct_and_rewrite_and_nothing_runs(
    runtime: Callable[..., Any],
) -> None:
    ran: list[int] = []

    def effect(x: int) -> int:
        ran.append(x)
        return x

    text = "effect(1)\nasync def f():\n    pass\nimport os\nx = effect\neval('1')\nglobal y\n(1).__class__"
    run = runtime(effect).run(text)
    assert run.status == "failed" and run.error is not None and run.error.kind == "rejected" and ran == []
    check = runtime(effect).check(text)
    lines = [problem.line for problem in check.errors]
    assert len(lines) == 5 and lines == sorted(lines) and lines[0] == 2
    assert all(str(problem).strip() for problem in check.errors)
