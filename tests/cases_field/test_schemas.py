"""FH01 to FH08, FS12: legal schemas and annotations of every kind are listed, shown to every provider and callable."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest

from .conftest import Serve, Upstream


def exports(rt: Any) -> list[str]:
    """The tools as every provider wants them, as JSON."""
    shown = [rt.schemas(dialect) for dialect in ("openai", "anthropic", "gemini", "mcp")]
    return [
        json.dumps(one) for one in (*shown, rt.schemas("openai", strict=True), rt.schemas("anthropic", strict=True))
    ]


def obj(properties: Any, *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), **more}


@pytest.mark.requirement("RUN-11")
def test_fh01_boolean_subschemas_are_any_value_and_no_value(serve: Serve) -> None:
    rt, up = serve({"put": obj({"rows": {"type": "array", "items": True}, "v": True, "never": False})})
    assert all("put" in shown for shown in exports(rt))
    assert rt.call("put", {"rows": [1, "a"], "v": {"k": 1}}).output == {"rows": [1, "a"], "v": {"k": 1}}
    assert rt.run("put(rows=[1, 'a'], v={'k': 1})").success
    refused = rt.call("put", {"never": 1})
    assert refused.error is not None and refused.error.kind == "invalid_arguments" and "never" in refused.error.message
    assert len(up.sent) == 2


@pytest.mark.requirement("SRC-10")
@pytest.mark.parametrize(
    "bad",
    [True, obj({"a": {"$ref": "#/$defs/nowhere"}}), {"type": "object", "properties": []}, {"type": "array"}, [], "x"],
    ids=["boolean", "dead reference", "list of properties", "array", "list", "text"],
)
def test_fh02_one_schema_that_cannot_be_digested_costs_one_tool(serve: Serve, bad: Any) -> None:
    rt, _ = serve({"first": obj({}), "bad": bad, "last": obj({})})
    assert [spec.name for spec in rt.tools()] == ["first", "last"]
    assert rt.call("first").success and rt.run("last()").success
    (quarantined,) = rt.inventory().quarantined
    assert (quarantined.source, quarantined.tool) == ("up", "bad") and quarantined.reason
    called = rt.call("bad")
    assert not called.success and "bad" in str(called.error)


TREE = obj(
    {"root": {"$ref": "#/$defs/N"}},
    **{
        "$defs": {
            "N": obj({"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/N"}}}, "v"),
        }
    },
)


@pytest.mark.requirement("RUN-11")
def test_fh03_a_schema_that_refers_to_itself_is_kept_shown_and_checked(serve: Serve) -> None:
    rt, _ = serve({"grow": TREE}, outputs={"grow": TREE})
    assert all("grow" in shown for shown in exports(rt))
    deep = {"root": {"v": 1, "kids": [{"v": 2, "kids": [{"v": 3}]}]}}
    assert rt.call("grow", deep).output == deep
    wrong = rt.call("grow", {"root": {"v": 1, "kids": [{"v": "x"}]}})
    assert wrong.error is not None and "root.kids[0].v" in wrong.error.message


def test_fh04_types_given_as_lists_are_unions(serve: Serve) -> None:
    rt, up = serve(
        {
            "t": obj(
                {
                    "a": {"type": ["string", "null"]},
                    "b": {"type": ["integer", "string"], "enum": [1, "auto"]},
                    "c": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
                }
            )
        }
    )
    assert all("auto" in shown for shown in exports(rt))
    given = {"a": None, "b": "auto", "c": None}
    assert rt.call("t", given).success and up.sent == [("t", given)]
    assert rt.run("t(a=None, b='auto', c=None)").success


def test_fh05_a_strict_export_is_legal_or_says_that_it_is_not_and_nulls_find_their_way_back(serve: Serve) -> None:
    schema = obj({"url": {"type": "string", "format": "uri"}, "max": {"type": "integer", "default": 5000}}, "url")
    rt, up = serve({"fetch": schema, "ping": obj({}), "loose": {}})
    before = json.dumps(schema)
    shown = {one["function"]["name"]: one["function"] for one in rt.schemas("openai", strict=True)}
    strict = shown["fetch"]["parameters"]
    assert shown["fetch"]["strict"] is True and strict["additionalProperties"] is False
    assert sorted(strict["required"]) == ["max", "url"] and "null" in json.dumps(strict["properties"]["max"])
    assert "default" not in strict["properties"]["max"] and "format" not in strict["properties"]["url"]
    assert shown["ping"]["parameters"]["additionalProperties"] is False
    assert not shown["loose"]["strict"]
    assert json.dumps(schema) == before
    assert rt.call("fetch", {"url": "http://x.y", "max": None}).success
    assert up.sent == [("fetch", {"url": "http://x.y", "max": 5000})]
    assert rt.call("ping", {}).success


class Color(Enum):
    RED = "red"
    BLUE = "blue"


def paint(
    a: str | None,
    b: Literal["x", "y"] = "x",
    c: Color = Color.RED,
    d: list[int] = (),  # type: ignore[assignment]
    e: dict[str, float] | None = None,
    f: Later | None = None,
) -> list[Any]:
    return [a, b, c.name, list(d), e, f and f.size]


@dataclass
class Later:
    size: int
    label: str = "none"


@pytest.mark.requirement("SCH-04")
def test_fh06_composite_annotations_are_true_schemas(runtime: Callable[..., Any]) -> None:
    rt = runtime(paint)
    schema = rt.tools()[0].input_schema
    shown = schema["properties"]
    assert schema["required"] == ["a"]
    assert "null" in json.dumps(shown["a"]) and shown["b"]["enum"] == ["x", "y"] and shown["b"]["default"] == "x"
    assert "red" in json.dumps(shown["c"]) and shown["d"]["items"] == {"type": "integer"}
    assert "number" in json.dumps(shown["e"]) and "null" in json.dumps(shown["e"])
    assert "size" in json.dumps(schema)
    assert rt.call("paint", {"a": None}).output == [None, "x", "RED", [], None, None]
    full = {"a": "s", "b": "y", "c": "blue", "d": [1], "e": {"k": 1.5}, "f": {"size": 3}}
    assert rt.call("paint", full).output == ["s", "y", "BLUE", [1], {"k": 1.5}, 3]
    assert rt.run("paint(a=None, f={'size': 4})").output[-1] == 4


@pytest.mark.requirement("SCH-04", "RUN-02")
def test_fh07_field_defaults_and_factories_are_defaults(runtime: Callable[..., Any]) -> None:
    from pydantic import Field

    def weather(city: str = Field(default="Oslo"), tags: list[str] = Field(default_factory=list)) -> list[Any]:  # noqa: B008 - as people write it
        return [city, tags]

    rt = runtime(weather)
    assert not rt.tools()[0].input_schema.get("required")
    assert rt.call("weather").output == rt.run("weather()").output == ["Oslo", []]


@pytest.mark.requirement("SCH-04", "LIB-03")
def test_fh08_annotations_of_the_future_import_are_resolved_and_what_cannot_be_is_any(
    runtime: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "lib.py").write_text(
        "from __future__ import annotations\nfrom datetime import date\nfrom typing import TYPE_CHECKING, Literal\n"
        "if TYPE_CHECKING:\n    from nowhere import Ghost\nIds = list[int]\n"
        'def tool_a(ids: Ids, when: "date | None" = None, mode: Literal["r", "w"] = "r", ghost: Ghost = None):\n'
        "    return [ids, str(when), mode, ghost]\n"
    )
    rt = runtime(tool_folders=[tmp_path])
    shown = rt.tools()[0].input_schema["properties"]
    assert shown["ids"]["items"] == {"type": "integer"} and shown["mode"]["enum"] == ["r", "w"]
    assert rt.call("tool_a", {"ids": [1], "when": "2026-01-02", "ghost": {"any": 1}}).output == [
        [1], "2026-01-02", "r", {"any": 1},
    ]  # fmt: skip
    assert rt.run("tool_a([1, 2])").output == [[1, 2], "None", "r", None]
    wrong = rt.call("tool_a", {"ids": ["x"]})
    assert wrong.error is not None and "ids" in wrong.error.message


def hides(fn: Callable[..., Any]) -> Callable[..., Any]:
    def inner(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return inner


def follows(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return inner


@pytest.mark.requirement("SRC-11")
def test_fs12_wrapped_partial_async_and_callable_objects_show_their_signature(runtime: Callable[..., Any]) -> None:
    @follows
    def seen(a: int, b: str = "x") -> list[Any]:
        return [a, b]

    @hides
    def unseen(a: int) -> int:
        return a

    unseen.__name__ = "unseen"

    async def later(a: int) -> int:
        return a

    class Doubler:
        """Doubles."""

        __name__ = "doubler"

        def __call__(self, a: int) -> int:
            return a * 2

        @staticmethod
        def halve(a: int) -> int:
            return a // 2

    def power(base: int, exponent: int) -> int:
        return base**exponent

    square = functools.partial(power, exponent=2)
    square.__name__ = "square"  # type: ignore[attr-defined]
    rt = runtime(seen, unseen, later, Doubler(), Doubler.halve, square)
    specs = {spec.name: spec for spec in rt.tools()}
    assert sorted(specs["seen"].input_schema["properties"]) == ["a", "b"]
    assert any("args" in note for note in specs["unseen"].notes), "a hidden signature is flagged"
    assert rt.call("seen", {"a": "1"}).output == [1, "x"]
    assert [rt.call(name, {"a": 4}).output for name in ("later", "doubler", "halve")] == [4, 8, 2]
    assert rt.call("square", {"base": 3}).output == 9


def test_tools_of_other_sources_are_there_whatever_one_source_says(serve: Serve) -> None:
    other = Upstream("other", {"fine": obj({})}, {})
    rt, _ = serve({"bad": {"type": "object", "properties": 5}}, other)
    assert rt.call("fine").success
