"""FH13 to FH19: arguments as models send them; what fits is never touched, what is unclear never runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Serve
from .test_schemas import obj

TEXTS = ["12345", "00123", "1e5", "true", "null", '{"a":1}', "[1]", "", " ", "NaN", "1e1000", "'x'"]


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize("text", TEXTS)
def test_fh13_a_text_parameter_gets_exactly_the_text(runtime: Callable[..., Any], text: str) -> None:
    def echo(p: str) -> str:
        return p

    rt = runtime(echo)
    result = rt.call("echo", {"p": text})
    assert result.output == text and not result.repairs
    assert rt.run("echo(p)", params={"p": text}).output == text


@pytest.mark.requirement("RUN-11", "PRG-10")
def test_fh14_json_text_for_objects_and_lists_is_parsed_noted_and_never_guessed(runtime: Callable[..., Any]) -> None:
    ran: list[Any] = []

    def save(fields: dict[str, int] | None = None, ids: list[int] | None = None) -> list[Any]:
        ran.append((fields, ids))
        return [fields, ids]

    asked: list[str] = []

    def confirm(source: str, *rest: Any) -> tuple[str, str]:
        asked.append(source)
        return "allow", ""

    rt = runtime(save, policy="strict", confirm_handler=confirm)
    result = rt.call("save", {"fields": '{"a":1}', "ids": "[1, 2]"})
    assert result.output == [{"a": 1}, [1, 2]] and [one.path for one in result.repairs] == ["fields", "ids"]
    assert '"a": 1' in asked[0] and "[1, 2]" in asked[0]
    run = rt.run("save(ids=t)", params={"t": "[3]"})
    assert run.output == [None, [3]] and run.trace[0].repairs[0].before == "[3]"
    broken = rt.call("save", {"ids": "[1, 2"})
    assert broken.error is not None and broken.error.kind == "invalid_arguments" and "ids" in broken.error.message
    assert "column" in broken.error.message or "char" in broken.error.message or "position" in broken.error.message
    assert len(ran) == 2


@pytest.mark.requirement("RUN-11")
def test_fh15_null_is_absent_where_it_may_not_stand_and_kept_where_it_means_something(serve: Serve) -> None:
    rt, up = serve(
        {
            "a": obj({"after": {"type": "string"}, "limit": {"type": "integer"}}),
            "b": obj({"assignee": {"type": ["string", "null"]}}),
            "c": obj({"must": {"type": "string"}}, "must"),
        }
    )
    assert rt.call("a", {"after": None}).success and rt.call("b", {"assignee": None}).success
    assert rt.run("a(after=None)").success and rt.run("b(assignee=None)").success
    assert up.sent == [("a", {}), ("b", {"assignee": None})] * 2
    refused = rt.call("c", {"must": None})
    assert refused.error is not None and "must" in refused.error.message and len(up.sent) == 4


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize("arguments", ["", "  ", None, "{}", "null", {}])
def test_fh16_no_arguments_come_in_many_forms(runtime: Callable[..., Any], arguments: Any) -> None:
    def none() -> str:
        return "ran"

    def needs(x: int) -> int:
        return x

    rt = runtime(none, needs)
    assert rt.call("none", arguments).output == "ran"
    missing = rt.call("needs", arguments)
    assert missing.error is not None and "missing" in missing.error.message and "'x'" in missing.error.message


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    "text",
    ['{"scope": "tmp", "dry": tr', '{"scope": "tmp', '{"scope": "tmp"', '{"scope"', "{", '{"scope": "tmp"} and more'],
)
def test_fh17_truncated_arguments_never_run(runtime: Callable[..., Any], text: str) -> None:
    ran: list[str] = []

    def purge(scope: str = "all", dry: bool = False) -> None:
        ran.append(scope)

    result = runtime(purge).call("purge", text)
    assert result.error is not None and result.error.kind == "invalid_arguments" and ran == []
    assert "scope" in result.error.message or text[:5] in result.error.message
    long = runtime(purge).call("purge", '{"scope": "' + "x" * 100_000)
    assert long.error is not None and len(long.error.message) < 3_000


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    ("sent", "meant"),
    [("false", False), ("False", False), ("0", False), (0, False), ("no", False), ("off", False), ("true", True),
     ("YES", True), (1, True), ("on", True), ("maybe", None), (2, None), ("", None), ([], None), ("falsey", None)],
)  # fmt: skip
def test_fh18_booleans_by_a_written_table_and_nothing_else(
    runtime: Callable[..., Any], sent: Any, meant: bool | None
) -> None:
    def switch(on: bool) -> bool:
        return on

    result = runtime(switch).call("switch", {"on": sent})
    assert result.output is meant
    assert result.success is (meant is not None)


@pytest.mark.requirement("RUN-05")
def test_fh19_a_near_miss_is_named_and_extras_go_where_the_schema_takes_them(
    runtime: Callable[..., Any], serve: Serve
) -> None:
    def impact(symbol: str, max_depth: int = 3) -> int:
        return max_depth

    def extras(symbol: str, **more: Any) -> dict[str, Any]:
        return more

    rt = runtime(impact, extras)
    wrong = rt.call("impact", {"symbol": "f", "depth": 1})
    assert wrong.error is not None and "depth" in wrong.error.message and "max_depth" in wrong.error.message
    program = rt.run("impact('f', depth=1)")
    assert program.error is not None and program.error.kind == "rejected" and "max_depth" in program.error.message
    assert rt.call("extras", {"symbol": "f", "depth": 1}).output == {"depth": 1}
    open_rt, up = serve({"t": obj({"symbol": {"type": "string"}}, additionalProperties=True)})
    assert open_rt.call("t", {"symbol": "f", "depth": 1}).success
    assert up.sent == [("t", {"symbol": "f", "depth": 1})]


@pytest.mark.requirement("RUN-05", "MCP-07")
@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "title": "anything"}])
def test_fh19_a_servers_schema_that_names_no_parameter_takes_any(serve: Serve, schema: dict[str, Any]) -> None:
    rt, up = serve({"t": schema})
    given = {"query": "x", "limit": 3, "deep": {"a": [1, None]}}
    result = rt.call("t", given)
    assert result.success and not result.repairs
    assert rt.run("t(query='x', limit=3)").success
    assert up.sent == [("t", given), ("t", {"query": "x", "limit": 3})]
    (shown,) = rt.tools()
    assert shown.accepts_extra


@pytest.mark.requirement("RUN-05")
@pytest.mark.parametrize("closed", [obj({}), {"type": "object", "additionalProperties": False}])
def test_fh19_a_schema_that_says_that_there_are_none_takes_none(serve: Serve, closed: dict[str, Any]) -> None:
    rt, up = serve({"t": closed})
    result = rt.call("t", {"query": "x"})
    assert result.success and [repair.rule for repair in result.repairs] == ["dropped"]
    assert up.sent == [("t", {})]


@pytest.mark.requirement("RUN-05")
def test_fh19_a_function_of_ours_that_takes_nothing_gets_nothing(runtime: Callable[..., Any]) -> None:
    def now() -> str:
        return "now"

    result = runtime(now).call("now", {"zone": "UTC"})
    assert result.output == "now" and [repair.path for repair in result.repairs] == ["zone"]
