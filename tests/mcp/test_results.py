"""What a server answers, as the value that a program gets."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from sutler.errors import ToolError
from sutler.mcp.results import OutputSchema, as_text, to_value
from sutler.results import interpret
from sutler.results.normalize import failure
from sutler.servers import RemoteResult
from sutler.spec import Origin, ToolSpec

SPEC = ToolSpec(name="t", origin=Origin(source="s", kind="mcp", trust="mcp"))
WRAPPED = OutputSchema({"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def of(*content: dict[str, Any], **more: Any) -> RemoteResult:
    return RemoteResult(content=content, **more)


def structured(value: Any, *content: dict[str, Any]) -> RemoteResult:
    return RemoteResult(content=content, structured=value, has_structured=True)


@pytest.mark.requirement("MCP-08")
@pytest.mark.parametrize(
    ("result", "value"),
    [
        (of(text("one")), "one"),
        (of(text("")), ""),
        (of(text("one"), text("two")), ["one", "two"]),
        (of(), None),
        (structured({"a": 1}, text("{}")), {"a": 1}),
        (structured({}), {}),
        (structured([1, 2]), [1, 2]),
        (structured(None), None),
        (structured(0, text("zero")), 0),
        (structured(False), False),
        (structured({"result": 5}), {"result": 5}),
    ],
)
def test_a_plain_answer_is_its_value(result: RemoteResult, value: Any) -> None:
    answer = to_value(result)
    assert answer.value == value and type(answer.value) is type(value)
    assert answer.notes == []


@pytest.mark.requirement("MCP-08")
def test_a_wrapper_is_taken_off_where_the_output_schema_is_one() -> None:
    assert to_value(structured({"result": 5}), WRAPPED).value == 5
    assert to_value(structured({"result": None}), OutputSchema({"properties": {"result": {}}})).value is None
    two = OutputSchema({"type": "object", "properties": {"result": {}, "more": {}}})
    assert to_value(structured({"result": 5}), two).value == {"result": 5}
    assert to_value(structured({"result": 5, "more": 1}), OutputSchema({"properties": {"result": {}}})).value == {
        "result": 5,
        "more": 1,
    }


BODY = [
    text("ok (sha)"),
    {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "BODY"}},
    {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": base64.b64encode(b"abc").decode()}},
    {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"12345").decode()},
    {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"1234").decode()},
    {"type": "resource_link", "uri": "https://x/y", "name": "why", "size": 7},
    {"type": "video"},
]


@pytest.mark.requirement("MCP-08")
def test_every_block_stays_in_order_and_has_a_text_of_its_own() -> None:
    answer = to_value(of(*BODY))
    assert [block["type"] for block in answer.value] == [block["type"] for block in BODY]
    assert list(answer.content) == BODY
    texts = [block["text"] for block in answer.value]
    assert texts[0] == "ok (sha)" and texts[1] == "BODY"
    assert "file:///b.bin" in texts[2] and "3 bytes" in texts[2]
    assert "image/png" in texts[3] and "5 bytes" in texts[3]
    assert "audio/wav" in texts[4] and "4 bytes" in texts[4]
    assert "why" in texts[5] and "https://x/y" in texts[5] and "7 bytes" in texts[5]
    assert "'video'" in texts[6] and any("'video'" in note for note in answer.notes)
    view = as_text(BODY)
    assert "BODY" in view and len(view.split("\n")) == len(BODY)
    assert answer.extra["text"] == view
    for block in (BODY[2], BODY[3]):
        assert (block.get("data") or block["resource"]["blob"]) not in view
    assert answer.value[3]["data"] == BODY[3]["data"]


@pytest.mark.requirement("MCP-08")
def test_one_block_that_is_no_text_is_that_block() -> None:
    value = to_value(of(BODY[3])).value
    assert value["type"] == "image" and value["data"] == BODY[3]["data"]


@pytest.mark.requirement("MCP-08")
def test_an_image_beside_structured_content_is_not_lost() -> None:
    answer = to_value(structured({"width": 2}, BODY[3]))
    assert answer.value == {"width": 2}
    assert list(answer.content) == [BODY[3]]
    assert any("image/png" in note for note in answer.notes)


@pytest.mark.requirement("MCP-08")
def test_a_failure_is_raised_with_its_text_and_its_code_as_data() -> None:
    sha = OutputSchema({"type": "object", "properties": {"sha": {"type": "string"}}, "required": ["sha"]})
    failed = RemoteResult(content=(text("auth failed"),), structured={"code": 401}, has_structured=True, is_error=True)
    with pytest.raises(ToolError) as caught:
        to_value(failed, sha)
    assert str(caught.value) == "auth failed"
    assert caught.value.output == {"code": 401}
    result = failure(caught.value)
    assert (result.success, str(result.error), result.output) == (False, "auth failed", {"code": 401})
    assert result.wire is failed


@pytest.mark.requirement("MCP-08")
@pytest.mark.parametrize(
    ("result", "said"),
    [
        (of(is_error=True), "without saying why"),
        (of(text("  "), is_error=True), "without saying why"),
        (RemoteResult(structured={"code": 7}, has_structured=True, is_error=True), '{"code": 7}'),
        (of(text("a"), BODY[1], is_error=True), "a\nBODY"),
        (of(BODY[3], is_error=True), "image/png"),
    ],
)
def test_a_failure_always_says_something(result: RemoteResult, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        to_value(result)
    assert said in str(caught.value)


@pytest.mark.requirement("MCP-08")
def test_content_that_breaks_its_schema_is_given_and_flagged() -> None:
    sha = OutputSchema({"type": "object", "properties": {"sha": {"type": "string"}}, "required": ["sha"]})
    answer = to_value(structured({"sha": 7}, text("done: abc")), sha)
    assert answer.value == {"sha": 7}
    assert any("sha" in note for note in answer.notes)
    assert as_text(answer.content) == "done: abc"
    assert not to_value(structured({"sha": "x"}), sha).notes


@pytest.mark.requirement("MCP-08")
def test_a_tool_that_declares_structure_and_gives_none_still_gives_its_text() -> None:
    answer = to_value(of(text("plain")), WRAPPED)
    assert answer.value == "plain"
    assert any("gave none" in note for note in answer.notes)


@pytest.mark.requirement("MCP-08")
@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1], True),
        ({"type": "array", "items": {"type": "integer"}}, ["x"], False),
        ({"type": "string"}, "x", True),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"n": {"$ref": "#/definitions/N"}},
                "definitions": {"N": {"type": "integer"}},
            },
            {"n": "x"},
            False,
        ),
        ({"$ref": "https://example.org/schema.json"}, {"any": "thing"}, True),
        (True, 5, None),
    ],
)
def test_output_schemas_of_any_shape_are_checked_and_never_fatal(schema: Any, value: Any, fits: bool | None) -> None:
    answer = to_value(structured(value), OutputSchema(schema))
    assert answer.value == value
    assert fits is None or bool(answer.notes) is not fits


@pytest.mark.requirement("MCP-08", "RUN-08")
def test_the_result_of_a_call_holds_value_content_and_notes() -> None:
    result, value = interpret(to_value(of(*BODY)), SPEC)
    assert result.success and result.output == value
    assert list(result.content) == BODY
    assert result.extra["text"] and result.notes
    # a dict that looks like the wrapper of a tool folder is not reinterpreted
    result, value = interpret(to_value(structured({"success": False, "error": "no"})), SPEC)
    assert result.success and value == {"success": False, "error": "no"}
