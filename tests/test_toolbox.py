"""The merge of sources into one inventory."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ToolNotFound
from sutler.inventory import Inventory
from sutler.schema.decorator import tool
from sutler.sources.base import (
    CODE,
    DEFAULTS,
    DIRECT,
    FOLDERS,
    OWN_MCP,
    PLUGINS,
    USER_CONFIG,
    VIRTUAL,
    Quarantined,
    host_config_precedence,
)
from sutler.sources.config import ConfigToolSource
from sutler.spec import Grade, Origin, SourceKind, ToolSpec
from sutler.tables import ToolTable
from sutler.toolbox import Toolbox


class Listed:
    """A source that gives what it was told to give, and counts how often it is asked."""

    def __init__(
        self,
        name: str,
        tools: Sequence[Any] = (),
        *,
        precedence: float | None = None,
        kind: SourceKind = "mcp",
    ) -> None:
        self._name = name
        self.kind: SourceKind = kind
        if precedence is not None:
            self.precedence = precedence
        self.tools = list(tools)
        self.up = True
        self.reason = "switched off"
        self.asked = 0

    @property
    def name(self) -> str:
        return self._name

    def available(self) -> bool:
        return self.up

    def discover(self) -> list[ToolSpec]:
        self.asked += 1
        return [self.spec(item) if isinstance(item, str) else item for item in self.tools]

    def spec(self, name: str, **more: Any) -> ToolSpec:
        return ToolSpec(name=name, origin=Origin(source=self._name, kind=self.kind, where=f"{self._name}:1"), **more)

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        return lambda: f"{self._name} runs {spec.name}"


class Gone(Listed):
    def available(self) -> bool:
        raise OSError("gone")


def toolbox(*sources: Listed) -> Toolbox:
    made = Toolbox()
    for source in sources:
        made.add_source(source)
    return made


def winner(inventory: Inventory, name: str) -> str:
    return inventory.tools[name].spec.origin.source


# ---------------------------------------------------------------- owners


@pytest.mark.requirement("SRC-03")
def test_a_name_goes_to_the_source_that_owns_it() -> None:
    box = toolbox(Listed("a", ["x"]), Listed("b", ["y"]))
    assert box.resolve("x")() == "a runs x"
    assert box.resolve("y")() == "b runs y"
    assert box.resolve("b::y")() == "b runs y"
    assert [row.spec.qualified for row in box.inventory().rows] == ["a::x", "b::y"]


def test_what_is_no_source_is_refused_at_the_door() -> None:
    with pytest.raises(TypeError, match="dict is no ToolSource: it has no name, available, discover, resolve"):
        Toolbox().add_source({})  # type: ignore[arg-type]


@pytest.mark.parametrize("rank", ["high", float("nan"), [1]])
def test_a_rank_that_is_no_number_is_refused_at_the_door(rank: Any) -> None:
    with pytest.raises(TypeError, match="precedence of source 'a'"):
        Toolbox().add_source(Listed("a", precedence=rank))
    with pytest.raises(TypeError, match="its id"):
        Toolbox().add_source(Listed(""))


def test_a_source_can_be_taken_out() -> None:
    a, b = Listed("a", ["x"]), Listed("b", ["y"])
    box = toolbox(a, b)
    box.inventory()
    box.remove_source(a)
    assert list(box.inventory().tools) == ["y"]
    box.remove_source("b")
    assert list(box.inventory().tools) == []
    with pytest.raises(KeyError, match="there is no source 'b'"):
        box.remove_source("b")
    box.add_source(a)
    assert list(box.inventory().qualified) == ["a::x"]


@pytest.mark.requirement("SRC-03", "SRC-10")
def test_a_second_source_of_the_same_id_is_numbered_and_reported() -> None:
    box = toolbox(Listed("db", ["x"], precedence=5), Listed("db", ["x", "y"], precedence=4), Listed("db", ["x"]))
    inventory = box.inventory()
    assert list(inventory.qualified) == ["db::x", "db#2::x", "db#2::y", "db#3::x"]
    assert box.resolve("db#2::x")() == "db runs x"
    assert any("'db#2'" in note for note in inventory.notes)
    box.remove_source("db")
    assert list(box.inventory().qualified) == ["db#2::x", "db#2::y", "db#3::x"]


def test_an_id_is_kept_for_a_source_that_is_away() -> None:
    first, second = Listed("db", ["x"]), Listed("db", ["x"])
    first.up = False
    box = toolbox(first, second)
    assert list(box.inventory().qualified) == ["db#2::x"]
    first.up = True
    assert list(box.inventory().qualified) == ["db::x", "db#2::x"]


def test_one_source_may_speak_for_several_ids() -> None:
    many = Listed("folder")
    many.tools = [ToolSpec(name="x", origin=Origin(source=stem, kind="library", precedence=15)) for stem in "ab"]
    inventory = toolbox(Listed("b", ["x"], precedence=5), many).inventory()
    assert list(inventory.qualified) == ["b::x", "a::x", "b#2::x"]


# ---------------------------------------------------------------- precedence


@pytest.mark.requirement("SRC-06")
def test_the_ranks_fall_in_the_stated_order() -> None:
    hosts = [host_config_precedence(index) for index in range(50)]
    ranks = [DIRECT, USER_CONFIG, CODE, FOLDERS, DEFAULTS, VIRTUAL, OWN_MCP, *hosts]
    assert ranks == sorted(ranks, reverse=True)
    assert len(set(ranks)) == len(ranks)
    assert [float("inf"), 20, 16, 15, 10, 7, 5] == ranks[:7]
    assert all(1 < rank < 5 for rank in hosts)


@pytest.mark.requirement("SRC-06")
@pytest.mark.parametrize("later_first", [False, True])
def test_the_higher_precedence_has_the_bare_name_whatever_the_order(later_first: bool) -> None:
    low, high = Listed("low", ["x"], precedence=5), Listed("high", ["x"], precedence=20)
    inventory = toolbox(*((high, low) if later_first else (low, high))).inventory()
    assert winner(inventory, "x") == "high"


@pytest.mark.requirement("SRC-06")
def test_of_equal_precedence_the_later_added_wins() -> None:
    inventory = toolbox(*(Listed(name, ["x"], precedence=5) for name in "abc")).inventory()
    assert winner(inventory, "x") == "c"
    assert [str(item.reason) for item in inventory.shadowed] == [
        "equal precedence 5, and the source added later wins"
    ] * 2


@pytest.mark.requirement("SRC-06", "LIB-02")
def test_of_tool_folders_the_first_configured_wins() -> None:
    folders = [Listed(name, ["x"], precedence=15, kind="library") for name in "abc"]
    inventory = toolbox(*folders).inventory()
    assert winner(inventory, "x") == "a"
    assert [item.row.spec.origin.source for item in inventory.shadowed] == ["b", "c"]
    assert "first configured" in inventory.shadowed[0].reason


@pytest.mark.requirement("SRC-06")
def test_a_rank_given_with_the_source_wins_over_its_own() -> None:
    box = Toolbox()
    box.add_source(Listed("a", ["x"], precedence=20))
    box.add_source(Listed("b", ["x"], precedence=5), precedence=21)
    inventory = box.inventory()
    assert winner(inventory, "x") == "b"
    assert inventory.tools["x"].spec.origin.precedence == 21


@pytest.mark.requirement("SRC-06")
def test_a_source_without_a_rank_stands_below_what_the_user_wrote() -> None:
    inventory = toolbox(Listed("folder", ["x"], precedence=15), Listed("plugin", ["x", "y"])).inventory()
    assert winner(inventory, "x") == "folder"
    assert inventory.tools["y"].spec.origin.precedence == PLUGINS


@pytest.mark.requirement("SRC-06", "SRC-11")
def test_a_function_of_the_host_wins_over_everything() -> None:
    box = toolbox(Listed("a", ["x", "y"], precedence=1e9))

    @box.add
    def x() -> str:
        return "mine"

    spec = box.register_tool(ToolSpec(name="y", origin=Origin(source="mine", kind="mcp")), lambda: "by hand")
    inventory = box.inventory()
    assert x() == "mine"
    assert (winner(inventory, "x"), winner(inventory, "y")) == ("functions", "functions")
    assert (box.resolve("x")(), box.resolve("y")()) == ("mine", "by hand")
    assert spec.origin == Origin(source="functions", kind="function", trust="local", precedence=DIRECT)


# ---------------------------------------------------------------- shadowed


@pytest.mark.requirement("SRC-07")
def test_a_tool_that_lost_its_name_is_data_and_still_callable(caplog: pytest.LogCaptureFixture) -> None:
    box = toolbox(Listed("low", ["read"], precedence=5), Listed("high", ["read"], precedence=20))
    with caplog.at_level(logging.INFO, logger="sutler.toolbox"):
        inventory = box.inventory()
    (shadowed,) = inventory.shadowed
    assert (shadowed.row.spec.qualified, shadowed.winner.spec.qualified) == ("low::read", "high::read")
    assert shadowed.reason == "precedence 5 against 20"
    assert box.resolve("low::read")() == "low runs read"
    assert box.resolve("low__read")() == "low runs read"
    assert inventory.qualified_program["low__read"] is shadowed.row
    assert shadowed.row.program_name == "low__read"
    assert "low__read" not in inventory.program
    assert "low" not in inventory.format_description()
    assert caplog.messages == [
        "low::read is shadowed by high::read: precedence 5 against 20; programs reach it as low__read"
    ]


@pytest.mark.requirement("SRC-07")
def test_a_name_said_twice_in_one_source_is_reported() -> None:
    source = Listed("server")
    source.tools = [source.spec("x", description="first"), source.spec("x", description="second"), "y"]
    inventory = toolbox(source).inventory()
    assert inventory.tools["x"].spec.description == "second"
    assert [str(item) for item in inventory.duplicates] == [
        "server::x: the definition at server:1 is hidden by the one at server:1"
    ]


# ---------------------------------------------------------------- one immutable inventory


@pytest.mark.requirement("SRC-08")
def test_an_inventory_once_given_never_changes() -> None:
    box = toolbox(Listed("a", ["x"]))
    before = box.inventory()
    assert box.inventory() is before
    box.add_source(Listed("b", ["x", "y"]))
    after = box.inventory()
    assert list(before.qualified) == ["a::x"]
    assert list(after.qualified) == ["a::x", "b::x", "b::y"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.tools = {}  # type: ignore[misc]


@pytest.mark.requirement("SRC-08")
def test_prompt_checker_and_calls_see_the_same_names() -> None:
    box = toolbox(Listed("a", ["fetch-url", "len", "x"]))
    inventory = box.inventory()
    described = [line.partition("(")[0] for line in inventory.format_description().splitlines()]
    assert described == list(inventory.program) == ["fetch_url", "len_", "x"]
    assert [inventory.find(name).spec.name for name in described] == ["fetch-url", "len", "x"]


@pytest.mark.requirement("SRC-08")
def test_a_source_is_asked_again_only_when_it_says_it_changed() -> None:
    source = Listed("a", ["x"])
    source.version = 1  # type: ignore[attr-defined]
    quiet = Listed("b", ["y"])
    box = toolbox(source, quiet)
    before = box.inventory()
    source.tools.append("z")
    assert box.inventory() is before
    source.version = 2  # type: ignore[attr-defined]
    after = box.inventory()
    assert list(after.tools) == ["x", "z", "y"]
    assert (source.asked, quiet.asked) == (2, 1)
    assert after.tools["y"].spec is before.tools["y"].spec
    quiet.tools.append("w")
    box.refresh("b")
    assert "w" in box.inventory().tools


@pytest.mark.requirement("SRC-08")
def test_many_threads_get_whole_inventories_while_sources_come() -> None:
    box = Toolbox()
    broken: list[str] = []

    def read() -> None:
        for _ in range(200):
            inventory = box.inventory()
            sizes = {row.spec.origin.source for row in inventory.rows}
            if len(inventory.rows) != 3 * len(sizes):
                broken.append(f"{len(inventory.rows)} rows of {sizes}")

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(20):
        box.add_source(Listed(f"s{number}", ["x", "y", f"z{number}"]))
    for reader in readers:
        reader.join()
    assert broken == []
    assert len(box.inventory().rows) == 60


# ---------------------------------------------------------------- names


@pytest.mark.requirement("SRC-09")
@pytest.mark.parametrize("name", ["len", "print", "import", "json", "class", "parallel"])
def test_a_masking_name_is_warned_about_and_folded(name: str, caplog: pytest.LogCaptureFixture) -> None:
    box = toolbox(Listed("srv", [name]))
    with caplog.at_level(logging.WARNING, logger="sutler.toolbox"):
        inventory = box.inventory()
    row = inventory.find(name)
    assert row.program_name == f"{name}_"
    assert row.qualified_program_name == f"srv__{name}"
    assert name not in inventory.program
    (note,) = inventory.notes
    assert f"`{name}`" in note and f"{name}_" in note and f"srv__{name}" in note
    assert caplog.messages == [note]


@pytest.mark.requirement("SRC-09")
def test_two_tools_whose_names_fold_alike_stay_two() -> None:
    inventory = toolbox(Listed("a", ["calendar.create", "assets/list", "calendar_create"])).inventory()
    assert inventory.find("calendar_create").spec.name == "calendar_create"
    dotted = inventory.find("calendar.create")
    assert dotted.spec.name == "calendar.create"
    assert dotted.program_name.startswith("calendar_create_")
    assert inventory.find(dotted.program_name) is dotted
    assert inventory.find("assets_list").spec.name == "assets/list"
    for row in inventory.rows:
        for spelling in (row.spec.qualified, row.qualified_program_name, f"mcp__{row.qualified_program_name}"):
            assert inventory.find(spelling) is row
    assert inventory.find("mcp__a__assets/list").spec.name == "assets/list"
    assert inventory.find("a::assets_list").spec.name == "assets/list"


@pytest.mark.requirement("SRC-09")
def test_an_ambiguous_folded_name_is_an_error_that_names_both() -> None:
    inventory = toolbox(Listed("a", ["fetch-url"]), Listed("b", ["fetch.url"])).inventory()
    with pytest.raises(ToolNotFound) as error:
        inventory.find("fetch_url")
    for row in inventory.rows:
        assert row.spec.qualified in str(error.value)
        assert row.program_name in str(error.value)
        assert inventory.find(row.program_name) is row


@pytest.mark.requirement("SRC-09")
def test_every_tool_of_a_hostile_list_has_a_program_name_of_its_own() -> None:
    names = [
        "fetch-url",
        "fetch_url",
        "list",
        "print",
        "import",
        "2fa-check",
        "a" * 90,
        "a" * 89 + "b",
        "ü",
        "日本",
        "a b",
    ]
    inventory = toolbox(Listed("one", names), Listed("two", names)).inventory()
    assert len(inventory.program) == len(names)
    assert len(inventory.qualified_program) == 2 * len(names)
    for name, row in {**inventory.program, **inventory.qualified_program}.items():
        assert name.isidentifier() and len(name) <= 64
        assert inventory.find(name) is row


@pytest.mark.requirement("RUN-01")
def test_an_unknown_name_is_answered_with_the_closest() -> None:
    inventory = toolbox(Listed("files", ["read_file", "write_file", "len"])).inventory()
    with pytest.raises(ToolNotFound, match="there is no tool 'read_fil'; the closest are read_file, write_file"):
        inventory.find("read_fil")
    with pytest.raises(ToolNotFound, match="the closest are files::len, "):
        inventory.find("file::len")
    with pytest.raises(ToolNotFound, match=r"^there is no tool 'zzz'$"):
        inventory.find("zzz")
    with pytest.raises(ToolNotFound):
        inventory.find("")


# ---------------------------------------------------------------- broken parts


@pytest.mark.requirement("SRC-10", "SRC-13")
def test_a_source_that_raises_is_quarantined_alone(caplog: pytest.LogCaptureFixture) -> None:
    class Raising(Listed):
        def discover(self) -> list[ToolSpec]:
            self.asked += 1
            raise RuntimeError("boom")

    bad = Raising("bad")
    box = toolbox(Listed("a", ["x"]), bad, Listed("b", ["y"]))
    inventory = box.inventory()
    assert list(inventory.tools) == ["x", "y"]
    (item,) = inventory.quarantined
    assert (item.source, item.tool) == ("bad", None)
    assert "RuntimeError: boom" in item.reason
    assert caplog.messages == [f"quarantined: {item}"]
    assert box.inventory() is inventory and bad.asked == 1


@pytest.mark.requirement("SRC-10", "SRC-13")
@pytest.mark.parametrize("failing", ["available", "version", "reason"])
def test_a_source_that_cannot_even_say_is_quarantined_alone(failing: str) -> None:
    class Silent(Listed):
        def __getattribute__(self, name: str) -> Any:
            if name == failing:
                raise OSError("gone")
            return super().__getattribute__(name)

    bad = Silent("bad", ["y"])
    box = Toolbox()
    box.add_source(Listed("a", ["x"]))
    bad.up = failing != "reason"
    if failing == "available":
        box.add_source(Gone("bad"))
    else:
        box.add_source(bad)
    inventory = box.inventory()
    assert list(inventory.tools) == ["x"]
    assert "OSError: gone" in inventory.quarantined[0].reason
    assert box.inventory() is inventory


@pytest.mark.requirement("SRC-10", "SRC-13")
def test_an_item_that_is_no_spec_is_quarantined_alone() -> None:
    box = toolbox(Listed("a", ["x", None, {"name": "y"}, "z"]))
    inventory = box.inventory()
    assert list(inventory.tools) == ["x", "z"]
    assert [item.reason for item in inventory.quarantined] == [
        "it gave a NoneType, which is no ToolSpec",
        "it gave a dict, which is no ToolSpec",
    ]


@pytest.mark.requirement("SRC-10")
@pytest.mark.parametrize(
    "schema",
    [True, None, [], {"type": "array"}, {"properties": []}, {"properties": {"a": {"$ref": "#/nowhere"}}}],
)
def test_a_tool_with_an_unusable_schema_is_quarantined_alone(schema: Any) -> None:
    source = Listed("server")
    source.tools = ["good", source.spec("bad", input_schema=schema), "fine"]
    inventory = toolbox(source).inventory()
    assert list(inventory.tools) == ["good", "fine"]
    (item,) = inventory.quarantined
    assert (item.source, item.tool, item.where) == ("server", "bad", "server:1")
    assert item.reason
    with pytest.raises(ToolNotFound, match="server::bad is quarantined"):
        inventory.find("bad")


@pytest.mark.requirement("SRC-10")
@pytest.mark.parametrize("name", ["", None, 3])
def test_a_tool_without_a_usable_name_is_quarantined_alone(name: Any) -> None:
    source = Listed("server")
    source.tools = [source.spec(name), "fine"]
    inventory = toolbox(source).inventory()
    assert list(inventory.tools) == ["fine"]
    assert "its name is" in inventory.quarantined[0].reason


@pytest.mark.requirement("SRC-10")
@pytest.mark.parametrize(
    "origin",
    [None, Origin(source="", kind="mcp"), Origin(source="s", kind="mcp", precedence="x")],  # type: ignore[arg-type]
)
def test_a_tool_without_a_usable_origin_is_quarantined_alone(origin: Any) -> None:
    source = Listed("server", ["fine"])
    source.tools.append(ToolSpec(name="lost", origin=origin))
    inventory = toolbox(source).inventory()
    assert list(inventory.tools) == ["fine"]
    assert [(item.source, item.tool) for item in inventory.quarantined] == [("server", "lost")]


@pytest.mark.requirement("SRC-10")
def test_what_a_source_says_of_its_own_troubles_is_passed_on() -> None:
    source = Listed("folder", ["x"])
    source.quarantined = (Quarantined(source="folder", tool="y", reason="bad", where="y.py:3"),)  # type: ignore[attr-defined]
    source.notes = ("a deeper folder is not searched",)  # type: ignore[attr-defined]
    source.missing = (("z", "not now"),)  # type: ignore[attr-defined]
    inventory = toolbox(source).inventory()
    assert [str(item) for item in inventory.quarantined] == ["folder::y: bad (y.py:3)"]
    assert inventory.notes == ("a deeper folder is not searched",)
    assert inventory.unavailable == (("folder::z", "not now"),)


@pytest.mark.requirement("SRC-13")
def test_a_source_that_is_not_available_gives_no_names_and_is_asked_again() -> None:
    source = Listed("a", ["x"])
    source.up = False
    box = toolbox(source, Listed("b", ["y"]))
    inventory = box.inventory()
    assert (list(inventory.tools), source.asked) == (["y"], 0)
    assert inventory.unavailable == (("a", "switched off"),)
    source.reason = "warming up"
    assert box.inventory().unavailable == (("a", "warming up"),)
    source.up = True
    assert list(box.inventory().tools) == ["x", "y"]
    assert box.inventory().unavailable == ()
    source.up = False
    assert list(box.inventory().tools) == ["y"]


# ---------------------------------------------------------------- grades


@pytest.mark.requirement("GRD-01")
def test_an_override_wins_over_what_a_tool_declares() -> None:
    source = Listed("srv")
    source.tools = [
        source.spec("declared", grade=Grade(3, 3), grade_from="declared"),
        source.spec("hinted", grade=Grade(1, 0), grade_from="hints"),
        "undeclared",
    ]
    box = Toolbox(grade_overrides={"srv::declared": Grade(0, 0), "srv::typo": Grade(1, 1), "srv::hinte": Grade(1, 1)})
    box.add_source(source)
    inventory = box.inventory()
    found = {name: (row.spec.grade, row.spec.grade_from) for name, row in inventory.tools.items()}
    assert found == {
        "declared": (Grade(0, 0), "override"),
        "hinted": (Grade(1, 0), "hints"),
        "undeclared": (Grade(3, 3), "undeclared"),
    }
    assert inventory.notes == (
        "[grades] 'srv::typo' is no tool that is there now",
        "[grades] 'srv::hinte' is no tool that is there now; did you mean 'srv::hinted'?",
    )
    assert inventory.grade == Grade(3, 3)


@pytest.mark.requirement("GRD-01")
def test_every_local_tool_says_where_its_grade_is_from(tmp_path: Path) -> None:
    from sutler.spec import ToolAnnotations

    tables = [
        ToolTable(name="graded", module="m", function="f", grade=Grade(1, 2)),
        ToolTable(name="hinted", module="m", function="f", annotations=ToolAnnotations(read_only=True)),
        ToolTable(name="bare", module="m", function="f"),
    ]
    box = Toolbox()
    box.add_source(ConfigToolSource(tables, tmp_path))

    @box.add
    @tool(read_only=True, open_world=True)
    def looks() -> None: ...

    @box.add
    def unknown() -> None: ...

    found = {name: (row.spec.grade, row.spec.grade_from) for name, row in box.inventory().tools.items()}
    assert found == {
        "graded": (Grade(1, 2), "declared"),
        "hinted": (Grade(1, 0), "declared"),
        "bare": (Grade(3, 3), "undeclared"),
        "looks": (Grade(2, 1), "declared"),
        "unknown": (Grade(3, 3), "undeclared"),
    }


# ---------------------------------------------------------------- thousands of tools


@pytest.mark.requirement("LIB-08")
def test_a_merge_touches_no_schema_of_a_tool_folder() -> None:
    from sutler.sources.lazy import Pending, lazy_spec

    def describe() -> dict[str, Any]:
        raise AssertionError("somebody looked")

    source = Listed("folder", precedence=15, kind="library")
    source.tools = [
        lazy_spec(
            {"name": f"t{number}", "origin": Origin(source="folder", kind="library", precedence=15)},
            Pending(describe),
        )
        for number in range(50)
    ]
    second = Listed("folder", precedence=15, kind="library")
    second.tools = source.tools
    inventory = toolbox(source, second).inventory()
    assert len(inventory.rows) == 100
    assert inventory.find("folder#2::t7").spec.name == "t7"
    assert inventory.grade == Grade(3, 3)
    with pytest.raises(AssertionError, match="somebody looked"):
        inventory.tools["t1"].spec.description


@pytest.mark.requirement("LCP-20")
def test_what_a_new_source_needs_is_settled_before_any_of_its_tools_can_be_called() -> None:
    """Its autonomy level is in force by then, so no call slips through at another."""
    old, end = Listed("old", ["a"]), Listed("end")
    box = toolbox(old, end)
    assert [row.spec.name for row in box.inventory().rows] == ["a"]
    found: list[Any] = []

    def settle() -> None:
        found.append(([name for name, _ in box.sources()], box.current()))

    box.exchange([old], [Listed("new", ["b"])], before=end, settle=settle)
    [(names, seen)] = found
    assert names == ["new", "end"]
    assert seen is None or [row.spec.name for row in seen.rows] == ["a"]
    assert [row.spec.name for row in box.inventory().rows] == ["b"]
