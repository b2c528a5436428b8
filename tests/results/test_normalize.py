from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.errors import LimitExceeded, ToolDenied, ToolError, ToolNotFound, ToolTimeout
from sutler.results import failure, interpret, normalize, program_value
from sutler.spec import Origin, SourceKind, ToolSpec

SHAPES = json.loads((Path(__file__).parent.parent / "cases" / "normalization.json").read_text(encoding="utf-8"))


def tool(kind: SourceKind = "library") -> ToolSpec:
    return ToolSpec(name="t", origin=Origin(source="s", kind=kind))


@pytest.mark.requirement("RUN-08", "RUN-09", "RUN-15")
@pytest.mark.parametrize("shape", SHAPES, ids=[shape["case"] for shape in SHAPES])
@pytest.mark.parametrize("kind", ["library", "code"])
def test_every_shape_that_folder_tools_return_is_read_as_decided(shape: dict[str, Any], kind: SourceKind) -> None:
    returned = shape["returned"]
    before = json.dumps(returned)
    result, value = interpret(returned, tool(kind))
    assert result.success is shape["success"]
    assert result.output == shape["output"]
    assert type(result.output) is type(shape["output"])
    assert result.extra == shape["extra"]
    assert result.status_code == (200 if shape["success"] else 500)
    assert (result.error is None) is shape["success"]
    if result.error is not None:
        assert (str(result.error), result.error.kind) == (shape["error"], "tool_error")
    assert result.prompt_injection == shape.get("prompt_injection")
    assert result.traceback == shape.get("traceback")
    assert any(shape["noted"] in note for note in result.notes) if "noted" in shape else result.notes == ()
    assert value == shape["program"]
    assert json.dumps(returned) == before
    wrapper = result.to_dict()
    assert wrapper.keys() >= {"output", "status_code", "success"}
    assert ("error" in wrapper) is not shape["success"]


@pytest.mark.requirement("RUN-08")
@pytest.mark.parametrize("kind", ["function", "config", "virtual", "mcp", "openapi"])
def test_values_of_other_tools_mean_themselves(kind: SourceKind) -> None:
    for shape in SHAPES:
        result, value = interpret(shape["returned"], tool(kind))
        assert result.success
        assert result.output == value == shape["returned"]
        assert result.extra == {}


@pytest.mark.requirement("RUN-08")
def test_an_object_that_is_no_dict_is_not_read_as_a_wrapper() -> None:
    from dataclasses import dataclass

    @dataclass
    class Job:
        status: str = "failed"

    result = normalize(Job(), tool())
    assert (result.success, result.output) == (True, {"status": "failed"})


@pytest.mark.requirement("RUN-08", "RUN-09")
def test_a_subclass_of_dict_is_a_wrapper_and_its_values_become_plain() -> None:
    class Answer(dict[str, Any]):
        pass

    assert normalize(Answer(output="ds"), tool()).output == "ds"
    assert normalize({"success": True, "output": {1}}, tool()).output == [1]
    assert normalize({"success": True, "output": (i for i in "ab")}, tool()).output == ["a", "b"]
    assert normalize({1: 2, "success": True}, tool()).output == {"1": 2}
    result = normalize({"success": True, "output": object()}, tool())
    assert "has no plain form" in result.notes[0]
    assert math.isnan(normalize({"success": True, "output": math.nan}, tool()).output)


@pytest.mark.requirement("RUN-09")
def test_a_value_that_cannot_be_told_is_a_failed_result_that_says_where() -> None:
    loop: dict[str, Any] = {"success": True}
    loop["output"] = loop
    result, value = interpret(loop, tool())
    assert value is None
    assert not result.success
    assert "refers to itself" in str(result.error)
    assert result.error is not None
    assert result.error.kind == "tool_error"


@pytest.mark.requirement("RUN-10")
def test_context_files_inside_the_workspace_pass_and_others_are_dropped_with_a_note(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "root2").mkdir()
    for path in ("root/here.txt", "root/sub/deep.txt", "root2/beside.txt", "out.txt"):
        (tmp_path / path).write_text("x")
    (root / "link.txt").symlink_to(tmp_path / "out.txt")
    (root / "inner.txt").symlink_to(root / "here.txt")
    listed = [
        *("here.txt", str(root / "sub" / "deep.txt"), "inner.txt"),
        *("../out.txt", "/etc/hostname", "link.txt", str(tmp_path / "root2" / "beside.txt"), "~/.bashrc"),
        *("nope.txt", ".", "", "x\0y", 5, None, {"a": 1}, "x" * 5000, "\ud800"),
    ]
    result = normalize({"success": True, "output": "o", "context_files": listed}, tool(), root=root)
    real = root.resolve()
    assert list(result.context_files) == [str(real / "here.txt"), str(real / "sub/deep.txt"), str(real / "here.txt")]
    assert len(result.notes) == len(listed) - 3
    assert "context_files: ../out.txt lies outside the workspace and is dropped" in result.notes
    assert "context_files: nope.txt is no file in the workspace and is dropped" in result.notes
    assert result.to_dict()["context_files"] == list(result.context_files)
    assert "context_files" not in result.extra


@pytest.mark.requirement("RUN-10")
@pytest.mark.parametrize(
    ("given_files", "kept"), [("here.txt", 1), (Path("here.txt"), 1), (("here.txt",), 1), ([], 0), (5, 0), (None, 0)]
)
def test_context_files_may_come_in_any_form(tmp_path: Path, given_files: Any, kept: int) -> None:
    (tmp_path / "here.txt").write_text("x")
    result = normalize({"success": True, "output": "o", "context_files": given_files}, tool(), root=tmp_path)
    assert len(result.context_files) == kept


@pytest.mark.requirement("RUN-10")
def test_without_a_workspace_no_file_is_passed_on() -> None:
    result = normalize({"success": True, "output": "o", "context_files": ["/etc/hostname"]}, tool())
    assert result.context_files == ()
    assert "has no workspace" in result.notes[0]


@pytest.mark.requirement("RUN-15")
@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (ToolNotFound("no tool x"), 404, "not_found"),
        (ToolTimeout("too slow"), 500, "timeout"),
        (ToolDenied("no"), 500, "denied"),
        (LimitExceeded("enough", limit="calls"), 500, "limit"),
        (ToolError("", traceback="Traceback..."), 500, "tool_error"),
    ],
)
def test_a_raised_failure_becomes_a_result_with_its_kind_and_status(error: Any, status: int, kind: str) -> None:
    wrapper = failure(error).to_dict()
    assert wrapper["success"] is False
    assert wrapper["output"] is None
    assert (wrapper["status_code"], wrapper["kind"]) == (status, kind)
    assert wrapper["error"] == str(error) != ""
    assert wrapper.get("traceback") == error.traceback


@pytest.mark.requirement("RUN-15")
def test_what_a_failed_tool_gave_all_the_same_is_kept_and_cannot_break_the_telling() -> None:
    assert failure(ToolError("x", output={1: {2}}, notes=["cut"])).output == {"1": [2]}
    assert failure(ToolError("x", notes=["cut"])).notes == ("cut",)
    loop: list[Any] = []
    loop.append(loop)
    assert failure(ToolError("x", output=loop)).output is None


def test_a_program_gets_the_whole_dict_where_output_is_not_all_of_it() -> None:
    whole = {"output": 1, "rows": [2]}
    assert program_value(whole, tool()) == whole
    assert program_value({"output": 1, "message": "m", "image_b64": "x"}, tool()) == 1
    assert program_value({"output": 1, "message": "m"}, tool("function")) == {"output": 1, "message": "m"}


KEYS = st.sampled_from(
    [
        *("success", "status", "return_code", "error", "message", "stderr", "output", "result", "data"),
        *("context_files", "prompt_injection", "images", "traceback", "status_code", "other", 1),
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats()
    | st.sampled_from(["error", "OK", "0", "", "x\0"])
    | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3) | st.tuples(inner),
    max_leaves=6,
)


@pytest.mark.requirement("RUN-08", "RUN-15")
@given(value=VALUES | st.dictionaries(KEYS, VALUES), kind=st.sampled_from(["library", "code", "function", "mcp"]))
@settings(max_examples=400, deadline=None)
def test_normalization_is_total_and_a_failure_always_says_why(value: Any, kind: Any) -> None:
    result = normalize(value, tool(kind), root=Path("/nowhere"))
    assert result.success is (result.error is None)
    assert result.error is None or str(result.error)
    wrapper = result.to_dict()
    assert {"output", "status_code", "success"} <= wrapper.keys()
    assert ("error" in wrapper) is not result.success
