"""Virtual tools: declared here, run by the harness, or not there."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler.config import load_text
from sutler.errors import ToolNotFound, ToolUnavailable
from sutler.sources.base import DEFAULTS, OWN_MCP, VIRTUAL
from sutler.sources.virtual import VirtualToolSource
from sutler.spec import Grade
from sutler.tables import ArgTable, ToolTable
from sutler.toolbox import Toolbox

NOTIFY = ToolTable(
    name="notify",
    description="Tell the person.",
    args=[ArgTable(name="text", type="str")],
    grade=Grade(2, 2),
    where="sutler.toml:3",
)
PICK = ToolTable(name="pick", where="sutler.toml:9")


def source_with(**supplied: Any) -> VirtualToolSource:
    return VirtualToolSource([NOTIFY, PICK], supplied.get)


@pytest.mark.requirement("VIR-01")
@pytest.mark.parametrize("form", ["[[virtual_tools]]\nname = 'notify'", "[virtual_tools.notify]"])
def test_both_forms_declare_a_tool_that_the_harness_runs(tmp_path: Path, form: str) -> None:
    text = f"{form}\ndescription = 'Tell.'\nargs = [{{ name = 'text', type = 'str' }}]\ngrade = {{ w = 2, d = 1 }}\n"
    config = load_text(text, tmp_path / "sutler.toml")
    source = VirtualToolSource(config.virtual_tools, {"notify": lambda text: f"told {text}"}.get)
    (spec,) = source.discover()
    assert (spec.name, spec.description, spec.grade, spec.grade_from) == ("notify", "Tell.", Grade(2, 1), "declared")
    assert (spec.origin.source, spec.origin.kind, spec.origin.trust) == ("virtual", "virtual", "virtual")
    assert OWN_MCP < spec.origin.precedence == VIRTUAL < DEFAULTS
    assert source.resolve(spec)(text="it") == "told it"


@pytest.mark.requirement("VIR-02")
def test_only_what_the_harness_supplies_now_is_in_the_inventory() -> None:
    supplied: dict[str, Callable[..., Any]] = {}
    box = Toolbox()
    box.add_source(VirtualToolSource([NOTIFY, PICK], supplied.get))
    empty = box.inventory()
    assert dict(empty.tools) == {} and empty.grade == Grade(0, 0)
    assert empty.format_description() == ""
    assert empty.unavailable == (
        ("virtual::notify", "the harness does not supply it now"),
        ("virtual::pick", "the harness does not supply it now"),
    )
    with pytest.raises(ToolNotFound, match="virtual::notify is unavailable now"):
        empty.find("notify")

    supplied["notify"] = lambda text: text
    with_notify = box.inventory()
    assert list(with_notify.tools) == ["notify"] and with_notify.grade == Grade(2, 2)
    supplied["pick"] = lambda: 1
    assert box.inventory().grade == Grade(3, 3)
    del supplied["pick"]
    assert list(box.inventory().tools) == ["notify"]
    assert list(with_notify.tools) == ["notify"]


@pytest.mark.requirement("VIR-03")
def test_a_tool_withdrawn_since_fails_its_call_with_a_clear_error() -> None:
    supplied: dict[str, Callable[..., Any]] = {"notify": lambda text: text, "pick": lambda: 1}
    source = VirtualToolSource([NOTIFY, PICK], supplied.get)
    spec = source.discover()[0]
    call = source.resolve(spec)
    assert call(text="a") == "a"
    del supplied["notify"]
    for attempt in (lambda: call(text="b"), lambda: source.resolve(spec)):
        with pytest.raises(ToolUnavailable, match=r"'notify' is unavailable: the harness .* \(sutler.toml:3\)"):
            attempt()
    supplied["notify"] = lambda text: f"back {text}"
    assert call(text="c") == "back c"


@pytest.mark.requirement("VIR-01", "VIR-04")
def test_harness_callables_may_be_sync_or_async() -> None:
    async def later(text: str) -> str:
        await asyncio.sleep(0)
        return f"later {text}"

    supplied: dict[str, Callable[..., Any]] = {"notify": later}
    source = VirtualToolSource([NOTIFY], supplied.get)
    call = source.resolve(source.discover()[0])
    assert inspect.iscoroutinefunction(call)
    assert asyncio.run(call(text="x")) == "later x"
    supplied["notify"] = lambda text: f"now {text}"
    assert asyncio.run(call(text="x")) == "now x"
    assert source.host_loop is True


@pytest.mark.requirement("VIR-02", "SRC-13")
def test_without_a_resolver_every_virtual_tool_is_listed_as_unavailable() -> None:
    source = VirtualToolSource([NOTIFY, PICK])
    assert source.discover() == []
    assert source.missing == (
        ("notify", "no harness_resolver was given to the runtime"),
        ("pick", "no harness_resolver was given to the runtime"),
    )


@pytest.mark.requirement("VIR-02", "SRC-10")
def test_a_resolver_that_fails_takes_out_that_tool_only() -> None:
    async def coroutine() -> None: ...

    def resolver(name: str) -> Any:
        if name == "notify":
            raise ConnectionError("harness is gone")
        if name == "waits":
            return coroutine()
        return {"pick": lambda: 1, "text": "no callable"}[name]

    tables = [NOTIFY, PICK, ToolTable(name="text"), ToolTable(name="waits"), ToolTable(name="unheard")]
    source = VirtualToolSource(tables, resolver)
    assert [spec.name for spec in source.discover()] == ["pick"]
    reasons = dict(source.missing)
    assert reasons["notify"] == "the harness_resolver raised ConnectionError: harness is gone"
    assert reasons["text"] == "the harness_resolver gave a str, not a callable"
    assert "coroutine function" in reasons["waits"]
    assert "KeyError" in reasons["unheard"]


def test_what_the_harness_raises_in_a_call_passes_through() -> None:
    def broken(text: str) -> str:
        raise LookupError(text)

    source = source_with(notify=broken)
    with pytest.raises(LookupError, match="x"):
        source.resolve(source.discover()[0])(text="x")
