"""Loading libraries: once, privately, on demand, and again after they are mended."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import textwrap
import threading
import time
import typing
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import InvalidArguments, ToolCallError, ToolUnavailable
from sutler.sources.bound import Bound
from sutler.sources.loader import LibraryLoader
from sutler.sources.modules import PrivateModules


class Folder:
    """A directory library on disk and loaders for it."""

    def __init__(self, root: Path, name: str = "lib") -> None:
        self.path = root / name
        self.path.mkdir(parents=True, exist_ok=True)
        self.modules = PrivateModules()

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        later = time.time() + next(_later)  # so that an edit is an edit on any file system's clock
        os.utime(file, (later, later))
        return file

    def loader(self, **more: Any) -> LibraryLoader:
        return LibraryLoader(
            stem=self.path.name, directory=self.path, modules=more.pop("modules", self.modules), **more
        )

    def call(self, file: str, tool: str, **arguments: Any) -> Any:
        return self.loader().runner(self.path / file, tool)(**arguments)


_later = iter(range(1, 100_000))


@pytest.fixture
def folder(tmp_path: Path) -> typing.Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.modules.close()


# ---------------------------------------------------------------- imported once, kept, never shared


@pytest.mark.requirement("RUN-03")
def test_a_library_is_imported_at_the_first_call_and_keeps_its_state(folder: Folder) -> None:
    folder.write("lib.py", "count = 0\ndef tool_next():\n    global count\n    count += 1\n    return count\n")
    loader = folder.loader()
    before = set(sys.modules)
    call = loader.runner(folder.path / "lib.py", "tool_next")
    assert set(sys.modules) == before
    assert [call(), call(), loader.runner(folder.path / "lib.py", "tool_next")()] == [1, 2, 3]


@pytest.mark.requirement("RUN-03")
def test_concurrent_first_calls_import_once_and_all_wait_for_the_whole_module(folder: Folder) -> None:
    folder.write(
        "lib.py",
        """
        import pathlib, time
        with open(pathlib.Path(__file__).with_name("imports.txt"), "a") as log:
            log.write("x")
        time.sleep(0.2)
        def tool_a():
            return READY
        READY = True
        """,
    )
    call = folder.loader().runner(folder.path / "lib.py", "tool_a")
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(call())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 8
    assert (folder.path / "imports.txt").read_text() == "x"


@pytest.mark.requirement("RUN-03")
def test_two_libraries_with_the_same_stem_never_share_a_module(tmp_path: Path) -> None:
    modules = PrivateModules()
    first, second = Folder(tmp_path / "one"), Folder(tmp_path / "two")
    for number, folder in enumerate((first, second)):
        folder.write("lib.py", f"STATE = []\ndef tool_a():\n    STATE.append({number})\n    return STATE\n")
    one = first.loader(modules=modules).runner(first.path / "lib.py", "tool_a")
    two = second.loader(modules=modules).runner(second.path / "lib.py", "tool_a")
    assert (one(), two(), one()) == ([0, 0], [1], [0, 0])
    modules.close()


@pytest.mark.requirement("RUN-03")
def test_two_runtimes_never_share_a_module(folder: Folder) -> None:
    folder.write("lib.py", "STATE = []\ndef tool_a():\n    STATE.append(1)\n    return len(STATE)\n")
    other = PrivateModules()
    here = folder.loader().runner(folder.path / "lib.py", "tool_a")
    there = folder.loader(modules=other).runner(folder.path / "lib.py", "tool_a")
    assert [here(), here(), there()] == [1, 2, 1]
    other.close()


@pytest.mark.requirement("RUN-03")
def test_a_closed_runtime_leaves_no_module_behind(folder: Folder) -> None:
    folder.write("lib.py", "import helper\ndef tool_a():\n    return helper.X\n")
    folder.write("helper.py", "X = 1\n")
    before = set(sys.modules)
    path = list(sys.path)
    assert folder.call("lib.py", "tool_a") == 1
    folder.modules.close()
    assert {name for name in set(sys.modules) - before if name.startswith("_sutler_")} == set()
    assert sys.path == path
    assert "helper" not in sys.modules
    assert not list(folder.path.rglob("__pycache__"))


# ---------------------------------------------------------------- siblings


@pytest.mark.requirement("RUN-03")
@pytest.mark.parametrize(
    "line",
    [
        "import helper\nX = helper.VALUE",
        "import helper as h, json\nX = h.VALUE",
        "from helper import VALUE as X",
        "from .helper import VALUE as X",
        "from . import helper\nX = helper.VALUE",
        "from lib.helper import VALUE as X",
        "import lib.helper\nX = lib.helper.VALUE",
        "import lib.helper as h\nX = h.VALUE",
        "from lib import helper\nX = helper.VALUE",
        "try:\n    import helper\nexcept ImportError:\n    X = None\nelse:\n    X = helper.VALUE",
        "if True:\n    with open(__file__):\n        import helper\nX = helper.VALUE",
        "match 1:\n    case 1:\n        import helper\nX = helper.VALUE",
        "import parts.inner\nX = parts.inner.VALUE",
        "import parts.inner as i\nX = i.VALUE",
        "from parts.inner import VALUE as X",
        "from parts import VALUE as X",
        "from .parts.inner import up as X",
    ],
)
def test_siblings_import_each_other_in_every_form(folder: Folder, line: str) -> None:
    folder.write("lib.py", f"{line}\ndef tool_a():\n    return X\n")
    folder.write("helper.py", "VALUE = 'mine'\n")
    folder.write("parts/__init__.py", "from helper import VALUE\n")
    folder.write("parts/inner.py", "from .. import helper\nfrom helper import VALUE\nup = helper.VALUE\n")
    assert folder.call("lib.py", "tool_a") == "mine"


@pytest.mark.requirement("RUN-03")
def test_each_library_gets_its_own_helper_also_when_imported_late_from_many_threads(tmp_path: Path) -> None:
    modules = PrivateModules()
    calls: list[Any] = []
    for number in range(4):
        folder = Folder(tmp_path / str(number))
        folder.write("helper.py", f"import time\ntime.sleep(0.05)\nVALUE = {number}\n")
        folder.write(
            "lib.py", "def tool_a():\n    import helper\n    from helper import VALUE\n    return VALUE, helper.VALUE\n"
        )
        calls.append(folder.loader(modules=modules).runner(folder.path / "lib.py", "tool_a"))
    answers: list[tuple[int, Any]] = []

    def work(number: int) -> None:
        for _ in range(5):
            answers.append((number, calls[number]()))

    threads = [threading.Thread(target=work, args=(number % 4,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 60
    assert all(answer == (number, number) for number, answer in answers)
    assert "helper" not in sys.modules
    modules.close()


@pytest.mark.requirement("RUN-03")
def test_a_sibling_goes_before_an_installed_package_of_its_name_only_inside_its_library(folder: Folder) -> None:
    folder.write("lib.py", "import rich\ndef tool_a():\n    return rich.MINE\n")
    folder.write("rich.py", "MINE = True\n")
    assert folder.call("lib.py", "tool_a") is True
    import rich

    assert not hasattr(rich, "MINE")


@pytest.mark.requirement("RUN-03")
def test_a_file_named_like_what_it_wraps_imports_the_installed_one(folder: Folder) -> None:
    folder.write("rich.py", "import rich\ndef tool_a():\n    return rich.__name__\n")
    folder.write("json.py", "import json\ndef tool_b():\n    return json.dumps([1])\n")
    folder.write("lib.py", "import json\ndef tool_c():\n    return json.dumps([2])\n")
    assert folder.call("rich.py", "tool_a") == "rich"
    assert folder.call("json.py", "tool_b") == "[1]"
    assert folder.call("lib.py", "tool_c") == "[2]"


@pytest.mark.requirement("RUN-03")
def test_files_that_import_each_other_in_a_circle_load_as_in_python(folder: Folder) -> None:
    folder.write("lib.py", "import other\nHERE = 1\ndef tool_a():\n    return other.look()\n")
    folder.write("other.py", "import lib\ndef look():\n    return lib.HERE\n")
    assert folder.call("lib.py", "tool_a") == 1


@pytest.mark.requirement("RUN-03")
def test_dataclasses_pickle_hints_and_main_guards_work_inside_a_library(folder: Folder) -> None:
    file = folder.write(
        "lib.py",
        """
        from __future__ import annotations
        from dataclasses import dataclass, field
        from typing import NamedTuple
        import helper

        @dataclass
        class Point:
            x: int
            tags: list[helper.Tag] = field(default_factory=list)

        class Pair(NamedTuple):
            a: Point

        def tool_a(p: Point) -> Pair:
            return Pair(p)

        if __name__ == "__main__":
            raise SystemExit("run as a script")
        """,
    )
    folder.write("helper.py", "class Tag: ...\n")
    module: Any = folder.loader().load(file)
    point = module.Point(1)
    assert pickle.loads(pickle.dumps(point)) == point
    assert typing.get_type_hints(module.tool_a) == {"p": module.Point, "return": module.Pair}
    assert module.__file__ == str(file)
    assert typing.get_type_hints(module.Point)["tags"].__args__[0].__module__.endswith("_lib.helper")


@pytest.mark.requirement("RUN-03")
def test_a_file_does_not_inherit_future_statements_from_the_loader(folder: Folder) -> None:
    folder.write("lib.py", "def tool_a(x: int = 1):\n    return tool_a.__annotations__\n")
    assert folder.call("lib.py", "tool_a") == {"x": int}


@pytest.mark.requirement("RUN-03")
def test_file_names_that_are_no_identifiers_load(folder: Folder) -> None:
    for name in ("my-tools.py", "my tools.py", "my.tools.py", "class.py", "été.py", "1.py"):
        folder.write(name, f"def tool_a():\n    return {name!r}\n")
        assert folder.call(name, "tool_a") == name


# ---------------------------------------------------------------- failing, and mended


@pytest.mark.requirement("RUN-04", "LIB-07")
@pytest.mark.parametrize(
    ("broken", "line", "cause"),
    [
        (
            "import helper\nimport nowhere_to_be_found\n",
            2,
            "ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        ("raise SystemExit(3)\n", 1, "SystemExit: 3"),
        ("x = 1\ny = 1 / 0\n", 2, "ZeroDivisionError"),
        ("def f():\n    raise KeyError('k')\nf()\n", 2, "KeyError: 'k'"),
        ("\n\ndef broken(:\n", 3, "SyntaxError"),
        ("raise BaseException\n", 1, "BaseException"),
        ("class Odd(BaseException): ...\nraise Odd('x')\n", 2, "Odd: x"),
        ("class Mute(Exception):\n    __str__ = None\nraise Mute\n", 3, "Mute: (its text cannot be shown)"),
    ],
)
def test_a_failing_import_names_file_line_and_cause_and_works_once_mended(
    folder: Folder, broken: str, line: int, cause: str
) -> None:
    file = folder.write("lib.py", broken)
    folder.write("helper.py", "X = 1\n")
    call = folder.loader().runner(file, "tool_a")
    before = set(sys.modules)
    for _ in range(2):
        with pytest.raises(ToolUnavailable) as caught:
            call()
        assert str(caught.value).startswith(f"{file}:{line}: cannot be imported: {cause}")
        assert caught.value.status_code == 500
        assert not [name for name in set(sys.modules) - before if name.endswith((".lib", ".helper"))]
    folder.write("lib.py", "def tool_a():\n    return 'mended'\n")
    assert call() == "mended"


@pytest.mark.requirement("RUN-04")
def test_a_fault_in_a_sibling_is_named_with_the_siblings_line_and_mending_the_sibling_is_enough(folder: Folder) -> None:
    file = folder.write("lib.py", "from helper import VALUE\ndef tool_a():\n    return VALUE\n")
    folder.write("other.py", "import helper\ndef tool_b():\n    return 1\n")
    helper = folder.write("helper.py", "X = 1\nraise ValueError('no luck')\n")
    call = folder.loader().runner(file, "tool_a")
    with pytest.raises(ToolUnavailable, match=f"{file}: cannot be imported: {helper}:2: ValueError: no luck"):
        call()
    folder.write("helper.py", "X = 1\n")
    assert folder.call("other.py", "tool_b") == 1  # now helper is loaded, though without VALUE
    with pytest.raises(ToolUnavailable, match="cannot import name 'VALUE'"):
        call()
    folder.write("helper.py", "VALUE = 5\n")
    assert call() == 5


@pytest.mark.requirement("RUN-04")
def test_a_failing_import_fails_every_waiting_call_and_leaves_other_libraries_alone(folder: Folder) -> None:
    file = folder.write("lib.py", "import time\ntime.sleep(0.2)\nraise OSError('disk')\n")
    folder.write("good.py", "def tool_g():\n    return 1\n")
    call = folder.loader().runner(file, "tool_a")
    failures: list[ToolCallError] = []

    def work() -> None:
        try:
            call()
        except ToolCallError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert folder.call("good.py", "tool_g") == 1
    for thread in threads:
        thread.join()
    assert [str(failure).endswith("OSError: disk") for failure in failures] == [True] * 4
    assert len({id(failure) for failure in failures}) == 4


@pytest.mark.requirement("RUN-04")
def test_ctrl_c_during_an_import_passes_and_the_next_call_loads(folder: Folder) -> None:
    file = folder.write("lib.py", "raise KeyboardInterrupt\n")
    call = folder.loader().runner(file, "tool_a")
    with pytest.raises(KeyboardInterrupt):
        call()
    caught: list[BaseException] = []

    def elsewhere() -> None:
        try:
            call()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=elsewhere)  # nobody presses Ctrl-C on a worker thread: the library raised it
    thread.start()
    thread.join()
    assert type(caught[0]) is ToolUnavailable
    folder.write("lib.py", "def tool_a():\n    return 1\n")
    assert call() == 1


@pytest.mark.requirement("RUN-04")
def test_a_tool_that_importing_does_not_define_is_a_clear_failure(folder: Folder) -> None:
    file = folder.write("lib.py", "if False:\n    def tool_a(): ...\ntool_b = 5\n")
    loader = folder.loader()
    with pytest.raises(
        ToolUnavailable, match=r"tool_a is written at lib.py:2, but importing .*lib.py did not define it"
    ):
        loader.runner(file, "tool_a", where="lib.py:2")()
    with pytest.raises(ToolUnavailable, match="made it a int, which cannot be called"):
        loader.runner(file, "tool_b", where="lib.py:3")()


@pytest.mark.requirement("RUN-04")
def test_a_deleted_file_is_a_clear_failure(folder: Folder) -> None:
    file = folder.write("lib.py", "def tool_a(): ...\n")
    call = folder.loader().runner(file, "tool_a")
    file.unlink()
    with pytest.raises(ToolUnavailable, match=r"lib\.py: cannot be imported: FileNotFoundError"):
        call()


# ---------------------------------------------------------------- hooks


@pytest.mark.requirement("LCP-05", "LCP-06")
def test_init_gets_a_copy_of_the_librarys_config_with_the_handlers_added(folder: Folder) -> None:
    file = folder.write(
        "lib.py",
        """
        SEEN = []
        def set_confirm_handler(h): SEEN.append(("confirm", h))
        def set_user_interaction_handler(h): SEEN.append(("interaction", h))
        def init_tools_library(config=None):
            SEEN.append(("init", config))
            config["nested"]["list"].append("changed")
            config["added"] = 1
        def tool_a(): return SEEN
        """,
    )

    def confirm(*_: Any) -> tuple[str, str]:
        return "allow", ""

    def ask(_: Any) -> None:
        return None

    configs = {"lib": {"nested": {"list": []}}, "else": {}}
    loader = folder.loader(configs=configs, confirm_handler=confirm, user_interaction_handler=ask)
    seen = loader.runner(file, "tool_a")()
    assert [name for name, _ in seen] == ["confirm", "interaction", "init"]
    assert seen[0][1] is confirm
    assert seen[1][1] is ask
    assert seen[2][1]["confirm_handler"] is confirm
    assert configs == {"lib": {"nested": {"list": []}}, "else": {}}


@pytest.mark.requirement("LCP-06")
@pytest.mark.parametrize(
    ("signature", "got"),
    [("config", "{'a': 1}"), ("", "nothing"), ("*rest", "({'a': 1},)"), ("*, config=None", "None"), ("**more", "{}")],
)
def test_init_gets_the_config_by_position_if_its_signature_allows_it(folder: Folder, signature: str, got: str) -> None:
    value = signature.strip("*, ").removesuffix("=None") or "'nothing'"
    file = folder.write(
        "lib.py",
        f"""
        def init_tools_library({signature}):
            global got
            got = {value}
        def tool_a():
            return str(got)
        """,
    )
    assert folder.loader(configs={"lib": {"a": 1}}).runner(file, "tool_a")() == got


@pytest.mark.requirement("LCP-06")
def test_init_runs_again_only_when_the_librarys_own_config_changed(folder: Folder) -> None:
    file = folder.write(
        "lib.py", "N = []\ndef init_tools_library(config): N.append(config.get('n'))\ndef tool_a(): return list(N)\n"
    )
    loader = folder.loader(configs={"lib": {"n": 1}})
    call = loader.runner(file, "tool_a")
    assert call() == [1]
    assert loader.configure({"lib": {"n": 1}, "other": {"x": 1}}) is False
    assert call() == [1]
    assert loader.configure({"lib": {"n": 2}}) is True
    assert loader.configure({"lib": {"n": 2}, "other": {}}) is False
    assert (call(), call()) == ([1, 2], [1, 2])
    assert loader.configure({}) is True
    assert call() == [1, 2, None]


@pytest.mark.requirement("RUN-04")
def test_a_failing_init_is_a_failure_that_names_it_and_the_next_call_starts_afresh(folder: Folder) -> None:
    file = folder.write("lib.py", "def init_tools_library(config):\n    config['key']\ndef tool_a():\n    return 1\n")
    loader = folder.loader()
    call = loader.runner(file, "tool_a")
    for _ in range(2):
        with pytest.raises(ToolUnavailable, match=f"{file}:2: init_tools_library failed: KeyError: 'key'"):
            call()
    loader.configure({"lib": {"key": 1}})
    assert call() == 1


@pytest.mark.requirement("LCP-06")
@pytest.mark.parametrize("kind", ["sync tool", "async tool", "sync tool under a running loop"])
def test_an_async_init_is_awaited_before_the_tool_runs(folder: Folder, kind: str) -> None:
    word = "async def" if kind == "async tool" else "def"
    file = folder.write(
        "lib.py",
        f"""
        import asyncio
        STATE = []
        async def init_tools_library(config):
            await asyncio.sleep(0.05)
            STATE.append(1)
        {word} tool_a():
            return list(STATE)
        """,
    )
    call = folder.loader().runner(file, "tool_a", is_async=kind == "async tool")

    async def together() -> Any:
        if kind == "async tool":
            return await asyncio.gather(*(call() for _ in range(5)))
        return [call() for _ in range(5)]

    if kind == "sync tool":
        assert call() == [1]
    else:
        assert asyncio.run(together()) == [[1]] * 5


@pytest.mark.requirement("LCP-06")
def test_a_call_cancelled_during_an_async_init_leaves_the_library_to_be_loaded_by_who_waits(folder: Folder) -> None:
    file = folder.write(
        "lib.py",
        """
        import asyncio
        async def init_tools_library(config):
            await asyncio.sleep(0.2)
        async def tool_a():
            return "done"
        """,
    )
    call = folder.loader().runner(file, "tool_a", is_async=True)

    async def play() -> Any:
        first = asyncio.ensure_future(call())
        await asyncio.sleep(0.05)
        second = asyncio.ensure_future(call())
        await asyncio.sleep(0.05)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    assert asyncio.run(play()) == "done"


@pytest.mark.requirement("LCP-06")
def test_an_init_that_calls_a_tool_of_its_own_library_does_not_wait_for_itself(folder: Folder) -> None:
    file = folder.write(
        "lib.py",
        """
        def init_tools_library(config):
            global got
            got = config["call"]()
        def tool_a():
            return "a"
        def tool_b():
            return got
        """,
    )
    loader = folder.loader()
    loader.configure({"lib": {"call": loader.runner(file, "tool_a")}})
    assert loader.runner(file, "tool_b")() == "a"


@pytest.mark.requirement("LCP-07")
def test_handlers_are_swapped_in_loaded_files_by_hook_or_by_attribute(folder: Folder) -> None:
    hook = folder.write(
        "lib.py", "H = 0\ndef set_confirm_handler(h):\n    global H\n    H = h\ndef tool_a():\n    return H\n"
    )
    attribute = folder.write("aux.py", "_CONFIRM_HANDLER = 0\ndef tool_b():\n    return _CONFIRM_HANDLER\n")
    loader = folder.loader(confirm_handler=len)
    calls = [loader.runner(hook, "tool_a"), loader.runner(attribute, "tool_b")]
    assert [call() for call in calls] == [len, 0]
    loader.set_confirm_handler(max)
    assert [call() for call in calls] == [max, max]
    loader.set_confirm_handler(None)
    assert [call() for call in calls] == [None, None]


# ---------------------------------------------------------------- passing arguments


@pytest.mark.requirement("SCH-07")
def test_positional_only_and_keyword_only_parameters_are_passed_rightly(folder: Folder) -> None:
    file = folder.write("lib.py", "def tool_a(a, b=2, /, c=3, *, d, e=5):\n    return [a, b, c, d, e]\n")
    call = folder.loader().runner(file, "tool_a")
    assert call(a=1, d=4) == [1, 2, 3, 4, 5]
    assert call(e=50, d=40, c=30, b=20, a=10) == [10, 20, 30, 40, 50]
    with pytest.raises(InvalidArguments, match="`a` is missing"):
        call(b=1, d=1)


@pytest.mark.requirement("SCH-07")
def test_a_later_positional_only_argument_fills_the_omitted_one_before_it(folder: Folder) -> None:
    file = folder.write("lib.py", "def tool_a(a=1, b=2, /, **more):\n    return a, b, more\n")
    call = folder.loader().runner(file, "tool_a")
    assert call(b=7) == (1, 7, {})
    assert call() == (1, 2, {})
    assert call(a=3, z=1) == (3, 2, {"z": 1})


@pytest.mark.requirement("SCH-07")
def test_parameters_may_be_named_like_anything(folder: Folder) -> None:
    file = folder.write(
        "lib.py", "def tool_a(self, arguments, name, file):\n    return [self, arguments, name, file]\n"
    )
    assert folder.loader().runner(file, "tool_a")(self=1, arguments=2, name=3, file=4) == [1, 2, 3, 4]


@pytest.mark.requirement("RUN-02")
def test_a_mutable_default_left_out_is_fresh_in_every_call_whatever_way_it_is_written(folder: Folder) -> None:
    file = folder.write(
        "lib.py",
        """
        SHARED = {"k": []}
        def tool_a(acc: list = [], made: list = list(), /, kept: dict = SHARED, *, bag: set = {1}):
            acc.append(1); made.append(1); kept["k"].append(1); bag.add(len(bag) + 1)
            return [len(acc), len(made), len(kept["k"]), len(bag)]
        """,
    )
    call = folder.loader().runner(file, "tool_a")
    assert [call(), call(), call()] == [[1, 1, 1, 2]] * 3
    mine = [5]
    assert call(acc=mine)[0] == 2
    assert mine == [5, 1]  # what the caller gave is the tool's to use


@pytest.mark.requirement("SCH-07")
def test_a_callable_without_a_signature_takes_its_arguments_by_name() -> None:
    assert Bound(dict)({"a": 1}) == {"a": 1}


@pytest.mark.requirement("RUN-03")
def test_a_library_in_a_folder_named_like_an_installed_package_reaches_the_package(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "rich")
    folder.write(
        "rich.py",
        "import rich.text\nfrom rich import table\ndef tool_a():\n    return rich.text.__name__, table.__name__\n",
    )
    folder.write("other.py", "import rich.text as t\ndef tool_b():\n    return t.__name__\n")
    folder.write("table.py", "")
    folder.write("text.py", "")
    assert folder.call("rich.py", "tool_a") == ("rich.text", "rich.table")
    assert folder.call("other.py", "tool_b") == "rich.text"
    folder.modules.close()


@pytest.mark.requirement("RUN-03")
def test_files_in_any_coding_load_as_they_are_listed(folder: Folder) -> None:
    text = "def tool_a():\n    return 'été'\n"
    for name, data in {
        "sixteen.py": text.encode("utf-16"),
        "latin.py": b"# -*- coding: latin-1 -*-\n" + text.encode("latin-1"),
        "bom.py": b"\xef\xbb\xbf" + text.encode(),
        "windows.py": text.replace("\n", "\r\n").encode(),
    }.items():
        (folder.path / name).write_bytes(data)
        assert folder.call(name, "tool_a") == "été"
    (folder.path / "bad.py").write_bytes(b"x = 1\ny = '\xff'\n")
    with pytest.raises(ToolUnavailable, match=r"bad\.py:2: byte 0xff is not UTF-8"):
        folder.call("bad.py", "tool_a")


@pytest.mark.requirement("RUN-04")
def test_a_sibling_sought_by_a_dynamic_import_is_explained_and_the_way_shown_works(folder: Folder) -> None:
    folder.write("helper.py", "X = 1\n")
    folder.write("lib.py", "import importlib\nX = importlib.import_module('helper')\n")
    with pytest.raises(
        ToolUnavailable, match=r"helper\.py stands beside the file: .*import_module\('\.helper', __package__\)"
    ):
        folder.call("lib.py", "tool_a")
    folder.write(
        "lib.py", "import importlib\nX = importlib.import_module('.helper', __package__).X\ndef tool_a(): return X\n"
    )
    assert folder.call("lib.py", "tool_a") == 1


@pytest.mark.requirement("RUN-03")
def test_a_thread_that_a_library_starts_at_import_may_import_siblings_and_call_tools_later(folder: Folder) -> None:
    folder.write("helper.py", "X = 5\n")
    file = folder.write(
        "lib.py",
        """
        import threading
        got = []
        def work():
            import helper
            got.append(helper.X)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        def tool_a():
            return got
        """,
    )
    assert folder.loader().runner(file, "tool_a")() == [5]


@pytest.mark.requirement("RUN-04")
def test_ctrl_c_during_an_import_passes_in_an_async_call_too(folder: Folder) -> None:
    file = folder.write("lib.py", "raise KeyboardInterrupt\n")
    call = folder.loader().runner(file, "tool_a", is_async=True)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(call())
    folder.write("lib.py", "async def tool_a():\n    return 1\n")
    assert asyncio.run(call()) == 1
