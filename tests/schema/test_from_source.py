"""Schemas from files that are never imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import SourceError
from sutler.schema.from_source import decode, describe

HEAD = """
from __future__ import annotations
import datetime, decimal, enum, os, pathlib, typing, uuid
import numpy as np
import pandas as pd
from dataclasses import dataclass, field
from datetime import datetime as moment
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import *
from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel, Field

MAX = 10
SENT = object()
"""


def schema_of(signature: str, before: str = "", **more: Any) -> dict[str, Any]:
    text = f"{HEAD}{before}\ndef tool_it({signature}):\n    pass\n"
    return describe(text, "tool_it", file="tools.py", **more).input_schema


def property_of(annotation: str, before: str = "", **more: Any) -> dict[str, Any]:
    return schema_of(f"a: {annotation}", before, **more)["properties"]["a"]


FOURTEEN = """
import pathlib, sys
pathlib.Path({marker!r}).write_text("imported")
import not_installed_anywhere
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Literal, Optional, TypedDict
from pydantic import BaseModel, Field

class Color(Enum):
    RED = "red"
    BLUE = "blue"

class Engine(BaseModel):
    power: int = Field(description="in kilowatts")

class Car(BaseModel):
    engine: Engine
    seats: int = Field(ge=1, le=9)

@dataclass
class Point:
    x: int
    y: float = 0.0

class Trip(TypedDict):
    start: str
    stops: list[str]

def tool_all(
    n: int,
    mode: Literal["fast", "slow"],
    color: Color,
    car: Car,
    tags: list[str],
    prices: dict[str, float],
    point: Point,
    trip: Trip,
    limit: Annotated[int, Field(ge=1, le=100)],
    name: Annotated[str, "what it is called"],
    when: Optional[datetime] = None,
    retries: int = 3,
) -> dict:
    '''Does all of it.

    Args:
        n: how many
    '''
"""


@pytest.mark.requirement("SCH-04", "LIB-03")
def test_a_file_that_is_never_imported_passes_the_fourteen_checks(tmp_path: Path) -> None:
    marker = tmp_path / "imported"
    described = describe(FOURTEEN.format(marker=str(marker)), "tool_all", file="all.py")
    properties = described.input_schema["properties"]
    assert not marker.exists()
    assert properties["n"] == {"type": "integer", "description": "how many"}
    assert properties["mode"] == {"type": "string", "enum": ["fast", "slow"]}
    assert properties["color"] == {"type": "string", "enum": ["red", "blue"]}
    car = properties["car"]["properties"]
    assert car["engine"]["properties"]["power"] == {"type": "integer", "description": "in kilowatts"}
    assert car["seats"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert properties["car"]["required"] == ["engine", "seats"]
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}}
    assert properties["prices"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert properties["point"]["properties"] == {"x": {"type": "integer"}, "y": {"type": "number", "default": 0.0}}
    assert properties["point"]["required"] == ["x"]
    assert properties["trip"]["properties"]["stops"] == {"type": "array", "items": {"type": "string"}}
    assert properties["limit"] == {"type": "integer", "minimum": 1, "maximum": 100}
    assert properties["name"]["description"] == "what it is called"
    assert properties["when"] == {
        "anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}],
        "default": None,
    }
    assert properties["retries"] == {"type": "integer", "default": 3}
    assert "when" not in described.input_schema["required"]
    assert list(properties)[:3] == ["n", "mode", "color"]


STRING, INTEGER, NUMBER, BOOLEAN = ({"type": kind} for kind in ("string", "integer", "number", "boolean"))
ARRAY, OBJECT, NULL = ({"type": kind} for kind in ("array", "object", "null"))


@pytest.mark.requirement("SCH-03", "SCH-04")
@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("int", INTEGER),
        ("float", NUMBER),
        ("number", NUMBER),
        ("bool", BOOLEAN),
        ("str", STRING),
        ("list", ARRAY),
        ("array", ARRAY),
        ("dict", OBJECT),
        ("object", OBJECT),
        ("None", NULL),
        ("Any", {}),
        ("typing.Any", {}),
        ("Optional[int]", {"anyOf": [INTEGER, NULL]}),
        ("int | None", {"anyOf": [INTEGER, NULL]}),
        ("Optional[List[int]]", {"anyOf": [{"type": "array", "items": INTEGER}, NULL]}),
        ("List[Dict[str, int]]", {"type": "array", "items": {"type": "object", "additionalProperties": INTEGER}}),
        ("Dict[str, list]", {"type": "object", "additionalProperties": ARRAY}),
        ("tuple", ARRAY),
        ("Tuple[int, str]", {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2}),
        ("tuple[int, ...]", {"type": "array", "items": INTEGER}),
        ("tuple[()]", {"type": "array", "minItems": 0, "maxItems": 0}),
        ("set[str]", {"type": "array", "items": STRING, "uniqueItems": True}),
        ("frozenset", {"type": "array", "uniqueItems": True}),
        ("Sequence[str]", {"type": "array", "items": STRING}),
        ("Mapping[str, str]", {"type": "object", "additionalProperties": STRING}),
        (
            "dict[int, str]",
            {"type": "object", "additionalProperties": STRING, "propertyNames": {"pattern": "^-?[0-9]+$"}},
        ),
        ("Literal['int', 'float']", {"type": "string", "enum": ["int", "float"]}),
        ("Literal[1, 2]", {"type": "integer", "enum": [1, 2]}),
        ("Literal[True]", {"type": "boolean", "enum": [True]}),
        ("Literal[1, 'auto', None]", {"enum": [1, "auto", None]}),
        ("Union[int, str]", {"anyOf": [INTEGER, STRING]}),
        ("float | int", {"anyOf": [NUMBER, INTEGER]}),
        ("int | int", INTEGER),
        ("int | Any", {}),
        ("Union[str, List[str]]", {"anyOf": [STRING, {"type": "array", "items": STRING}]}),
        ("'int'", INTEGER),
        ("'List[int]'", {"type": "array", "items": INTEGER}),
        ("Annotated[str, 'an integer hint']", {"type": "string", "description": "an integer hint"}),
        ("Annotated[int, Field(ge=0, description='d')]", {"type": "integer", "minimum": 0, "description": "d"}),
        ("Annotated[int, Ge(1), Le(MAX)]", {"type": "integer", "minimum": 1, "maximum": 10}),
        ("Annotated[list[int], MaxLen(3)]", {"type": "array", "items": INTEGER, "maxItems": 3}),
        ("Annotated[str, Field(min_length=1, pattern='^a')]", {"type": "string", "minLength": 1, "pattern": "^a"}),
        ("Final[str]", STRING),
        ("Path", {"type": "string", "format": "path"}),
        ("pathlib.Path", {"type": "string", "format": "path"}),
        ("moment", {"type": "string", "format": "date-time"}),
        ("datetime.date", {"type": "string", "format": "date"}),
        ("uuid.UUID", {"type": "string", "format": "uuid"}),
        ("bytes", {"type": "string", "format": "binary"}),
        ("Decimal", {"anyOf": [NUMBER, {"type": "string", "format": "decimal"}]}),
    ],
)
def test_an_annotation_becomes_the_schema_it_means(annotation: str, expected: dict[str, Any]) -> None:
    assert property_of(annotation) == expected


@pytest.mark.requirement("SCH-03", "SCH-09")
@pytest.mark.parametrize(
    "annotation",
    ["PrintJob", "Blacklist", "BooleanFlag", "np.ndarray", "pd.DataFrame", "Callable[[int], str]", "complex",
     "Type[int]", "re.Pattern", "Optional[pd.DataFrame]", "int | PrintJob", "lambda: int", "Missing[int]",
     "'not python at all'", "3"],
)  # fmt: skip
def test_an_annotation_without_a_json_form_is_shown_as_a_string_that_takes_anything(annotation: str) -> None:
    described = describe(f"{HEAD}def tool_it(a: {annotation}, b): pass\n", "tool_it", file="tools.py")
    assert described.input_schema["properties"] == {"a": STRING, "b": STRING}
    assert described.untyped == {"a", "b"}
    assert any("'a'" in note and annotation.strip("'")[:8] in note for note in described.notes)
    assert not any("'b'" in note for note in described.notes)


@pytest.mark.requirement("SCH-04", "SCH-09")
def test_an_unknown_type_inside_a_container_allows_anything_there() -> None:
    assert property_of("list[Missing]") == ARRAY
    assert property_of("dict[str, Missing]") == {"type": "object", "additionalProperties": {}}


CLASSES = """
Ids = list[int]
Also = Ids
Alias: TypeAlias = "dict[str, Ids]"
UserId = NewType("UserId", int)
T = TypeVar("T", bound=str)

class Color(Enum):
    RED = "red"
    BLUE = "blue"
    CRIMSON = "red"

class Level(IntEnum):
    LOW = enum.auto()
    HIGH = enum.auto()

class Shape(Enum):
    POINT = (0, 0)

class Spot(NamedTuple):
    lat: float
    lon: float = 0.0

class Base(TypedDict):
    one: int

class Part(Base, total=False):
    two: str
    three: "Required[int]"

@dataclass
class Later:
    "A later thing."
    x: int
    tags: list[str] = field(default_factory=list)
    inner: Color = Color.RED
    none: int = field(init=False, default=1)
    shared: ClassVar[int] = 3

@dataclass
class More(Later):
    y: "int | None" = None

class Node(BaseModel):
    value: int
    kids: list["Node"] = []
"""


@pytest.mark.requirement("SCH-04")
@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("Ids", {"type": "array", "items": INTEGER}),
        ("Also", {"type": "array", "items": INTEGER}),
        ("Alias", {"type": "object", "additionalProperties": {"type": "array", "items": INTEGER}}),
        ("UserId", INTEGER),
        ("T", STRING),
        ("Color", {"type": "string", "enum": ["red", "blue"]}),
        ("Literal[Color.RED]", {"type": "string", "enum": ["red"]}),
        ("Level", {"type": "integer", "enum": [1, 2]}),
        ("Spot", {"type": "object", "properties": {"lat": NUMBER, "lon": {"type": "number", "default": 0.0}},
                  "required": ["lat"], "additionalProperties": False}),
        ("Part", {"type": "object", "properties": {"one": INTEGER, "two": STRING, "three": INTEGER},
                  "required": ["one", "three"]}),
        ("More", {"type": "object", "description": None, "additionalProperties": False, "required": ["x"],
                  "properties": {"x": INTEGER, "tags": {"type": "array", "items": STRING},
                                 "inner": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                                 "y": {"anyOf": [INTEGER, NULL], "default": None}}}),
    ],
)  # fmt: skip
def test_a_class_or_alias_of_the_same_file_is_written_out(annotation: str, expected: dict[str, Any]) -> None:
    assert property_of(annotation, CLASSES) == {key: value for key, value in expected.items() if value is not None}


@pytest.mark.requirement("SCH-04")
def test_a_class_that_holds_itself_is_written_once_under_defs() -> None:
    schema = schema_of("a: Node, b: Optional[Node] = None, c: Later = None", CLASSES)
    assert schema["properties"]["a"] == {"$ref": "#/$defs/Node"}
    assert schema["properties"]["b"]["anyOf"][0] == {"$ref": "#/$defs/Node"}
    assert schema["properties"]["c"]["type"] == "object"  # used once: in place
    assert list(schema["$defs"]) == ["Node"]
    assert schema["$defs"]["Node"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/Node"}


@pytest.mark.requirement("SCH-04")
def test_the_schema_of_classes_that_use_each_other_stays_linear() -> None:
    levels = "\n".join(f"@dataclass\nclass L{n}:\n    a: 'L{n + 1}'\n    b: 'L{n + 1}'" for n in range(30))
    schema = schema_of("a: L0", f"{levels}\n@dataclass\nclass L30:\n    x: int\n")
    assert len(json.dumps(schema)) < 10_000
    assert schema["$defs"]["L30"]["properties"] == {"x": INTEGER}


@pytest.mark.requirement("SCH-04")
def test_two_classes_of_one_name_are_kept_apart_under_defs() -> None:
    sibling = "from dataclasses import dataclass\n@dataclass\nclass Job:\n    other: str\n"
    before = "import shapes\n@dataclass\nclass Job:\n    own: int\n"
    schema = schema_of("a: Job, b: Job, c: shapes.Job, d: shapes.Job", before, neighbour={"shapes": sibling}.get)
    assert schema["$defs"]["Job"]["properties"] == {"own": INTEGER}
    assert schema["$defs"]["Job_2"]["properties"] == {"other": STRING}
    assert schema["properties"]["c"] == {"$ref": "#/$defs/Job_2"}


@pytest.mark.requirement("SCH-04")
@pytest.mark.parametrize(
    ("imports", "annotation"),
    [
        ("from .shapes import Job", "Job"),
        ("from .shapes import Job as Work", "list[Work]"),
        ("from . import shapes", "shapes.Job"),
        ("from shapes import Job", "Job"),
        ("import shapes as s", "s.Job"),
        ("from mylib.shapes import Job", "Job"),
        ("from .shapes import *", "Job"),
        ("from .again import Job", "Job"),
        ("from .again import Jobs", "Jobs"),
    ],
)
def test_a_class_of_a_sibling_file_is_found_without_importing_it(imports: str, annotation: str) -> None:
    shapes = "raise SystemExit\nfrom typing import TypedDict\nclass Job(TypedDict):\n    id: 'Ids'\nIds = list[int]\n"
    files = {
        "shapes": shapes,
        "mylib.shapes": shapes,
        "again": "from .shapes import Job\nimport tools\nJobs = list[Job]\n",
    }
    schema = property_of(annotation, imports, neighbour=files.get)
    job = schema.get("items", schema)
    assert job["properties"] == {"id": {"type": "array", "items": INTEGER}}


@pytest.mark.requirement("SCH-04")
def test_imports_that_go_round_in_a_circle_leave_the_name_unknown() -> None:
    files = {"one": "from .two import Job\n", "two": "from .one import Job\n", "three": "from .three import *\n"}
    assert property_of("Job", "from .one import Job", neighbour=files.get) == STRING
    assert property_of("Job", "from .three import *", neighbour=files.get) == STRING


@pytest.mark.requirement("SCH-04")
@pytest.mark.parametrize(
    "before",
    ["X = X", "X = 'X'", "X = list['X']", "class X(X): pass", "X = Y\nY = X", "class X(Y): pass\nclass Y(X): pass",
     "@dataclass\nclass X(X):\n    a: 'X'"],
)  # fmt: skip
def test_a_name_that_means_itself_ends(before: str) -> None:
    assert isinstance(property_of("X", before), dict)


@pytest.mark.requirement("SCH-04", "SCH-05")
def test_field_fh06_optional_union_literal_and_enum_keep_their_meaning_and_defaults() -> None:
    schema = schema_of(
        'a: str | None, b: Literal["x","y"]="x", c: Color=Color.RED, d: list[int]=(), e: dict[str,float]|None=None,'
        ' f: "Later"=None',
        CLASSES,
    )
    properties = schema["properties"]
    assert schema["required"] == ["a"]
    assert properties["a"] == {"anyOf": [STRING, NULL]}
    assert properties["b"] == {"type": "string", "enum": ["x", "y"], "default": "x"}
    assert properties["c"] == {"type": "string", "enum": ["red", "blue"], "default": "red"}
    assert properties["d"] == {"type": "array", "items": INTEGER, "default": []}
    assert properties["e"]["anyOf"] == [{"type": "object", "additionalProperties": NUMBER}, NULL]
    assert list(properties["f"]["properties"]) == ["x", "tags", "inner"]
    assert properties["f"]["description"] == "A later thing."
    assert properties["e"]["default"] is None
    assert properties["f"]["default"] is None


@pytest.mark.requirement("SCH-04", "SCH-09")
def test_field_fh08_names_under_type_checking_fall_back_to_any_with_a_note() -> None:
    before = "if TYPE_CHECKING:\n    from fractions import Fraction\nIds = list[int]\n"
    text = (
        f'{HEAD}{before}def tool_a(ids: Ids, when: "datetime.date | None" = None, mode: Literal["r", "w"] = "r",'
        " much: Fraction = None): pass\n"
    )
    described = describe(text, "tool_a", file="tools.py")
    properties = described.input_schema["properties"]
    assert properties["ids"] == {"type": "array", "items": INTEGER}
    assert properties["when"]["anyOf"] == [{"type": "string", "format": "date"}, NULL]
    assert properties["mode"]["enum"] == ["r", "w"]
    assert described.untyped == {"much"}
    assert any("`Fraction`" in note for note in described.notes)


@pytest.mark.requirement("SCH-05")
@pytest.mark.parametrize(
    ("default", "value"),
    [("-5", -5), ("1e3", 1000.0), ("'x'", "x"), ("None", None), ("[]", []), ("{'a': [1]}", {"a": [1]}), ("True", True),
     ("''", ""), ('"it\'s"', "it's")],
)  # fmt: skip
def test_a_literal_default_is_in_the_schema(default: str, value: Any) -> None:
    schema = schema_of(f"a={default}")
    assert schema["properties"]["a"] == {"type": "string", "default": value}
    assert "required" not in schema


@pytest.mark.requirement("SCH-05")
@pytest.mark.parametrize(
    ("default", "text"),
    [("MAX", "MAX"), ("os.getcwd()", "os.getcwd()"), ("10**6", "10 ** 6"), ("SENT", "SENT"), ("'a' + 'b'", "'a' + 'b'"),
     ("f'{1}'", "f'{1}'"), ("(1, 2)", "(1, 2)"), ("{2, 1}", "{1, 2}"), ("b'by'", "b'by'"), ("1j", "1j"), ("...", "..."),
     ("float('nan')", "float('nan')"), ("Color.RED", "Color.RED"), ("lambda x: x", "a function"), ("{1: 2}", "{1: 2}"),
     ("1e999", "inf")],
)  # fmt: skip
def test_any_other_default_makes_the_parameter_optional_and_is_left_to_python(default: str, text: str) -> None:
    schema = schema_of(f"a: int = {default}", CLASSES)
    assert schema == {"type": "object", "properties": {"a": {"type": "integer", "description": f"(default: {text})"}}}
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.requirement("SCH-05")
def test_the_note_about_a_default_follows_the_description() -> None:
    text = f"{HEAD}def tool_it(a: int = MAX):\n    '''X.\n\n    Args:\n        a: how many\n    '''\n"
    described = describe(text, "tool_it", file="tools.py")
    assert described.input_schema["properties"]["a"]["description"] == "how many (default: MAX)"


@pytest.mark.requirement("SCH-05")
def test_field_fh07_a_field_default_makes_the_parameter_optional() -> None:
    schema = schema_of(
        "city: str = Field(default='Oslo', description='where'), tags: list[str] = Field(default_factory=list),"
        " must: int = Field(..., ge=1), other: int = Field(MAX), last: Annotated[int, Field(default=2)] = 3"
    )
    assert schema["required"] == ["must"]
    assert schema["properties"]["city"] == {"type": "string", "description": "where", "default": "Oslo"}
    assert schema["properties"]["tags"]["description"] == "(default: list())"
    assert schema["properties"]["must"] == {"type": "integer", "minimum": 1}
    assert schema["properties"]["other"] == {"type": "integer", "description": "(default: MAX)"}
    assert schema["properties"]["last"]["default"] == 3


@pytest.mark.requirement("SCH-06")
def test_host_parameters_and_stars_are_hidden_and_names_alike_are_not() -> None:
    text = (
        "def tool_it(args, tool_context, kwargs=1, *rest, lollms_client_instance=None, discussion_instance=None,"
        " user_interaction_handler=None, **more): pass\n"
    )
    described = describe(text, "tool_it", file="tools.py")
    assert list(described.input_schema["properties"]) == ["args", "kwargs"]
    assert described.input_schema["required"] == ["args"]
    assert described.hidden == {
        "tool_context", "lollms_client_instance", "discussion_instance", "user_interaction_handler", "**"
    }  # fmt: skip
    assert describe("def tool_it(*args): pass", "tool_it", file="t.py").hidden == frozenset()


@pytest.mark.requirement("SCH-07")
def test_keyword_only_and_positional_only_parameters_are_in_the_schema() -> None:
    described = describe("def tool_it(a, b=1, /, c=2, *, d, e=3): pass", "tool_it", file="tools.py")
    assert list(described.input_schema["properties"]) == ["a", "b", "c", "d", "e"]
    assert described.input_schema["required"] == ["a", "d"]
    assert described.positional_only == ("a", "b")


@pytest.mark.requirement("SCH-04")
def test_words_in_the_annotation_win_over_the_docstring() -> None:
    text = (
        f"{HEAD}def tool_it(a: Annotated[int, 'from the annotation'], b: int):\n"
        "    '''X.\n\n    Args:\n        a: from the docstring\n        b: from the docstring\n    '''\n"
    )
    properties = describe(text, "tool_it", file="tools.py").input_schema["properties"]
    assert properties["a"]["description"] == "from the annotation"
    assert properties["b"]["description"] == "from the docstring"


@pytest.mark.requirement("SCH-04")
@pytest.mark.parametrize(
    ("returns", "has"), [("Later", True), ("Part", True), ("Node", True), ("dict", False), ("dict[str, int]", False),
                         ("Spot", False), ("int", False), ("Optional[Later]", False), ("Missing", False)],
)  # fmt: skip
def test_only_a_return_type_that_names_its_fields_is_an_output_schema(returns: str, has: bool) -> None:
    text = f"{HEAD}{CLASSES}def tool_it() -> {returns}: pass\n"
    output = describe(text, "tool_it", file="tools.py").output_schema
    assert (output is not None) == has
    if output is not None:
        assert output["type"] == "object"


@pytest.mark.requirement("SCH-04")
def test_a_pydantic_model_says_what_it_takes() -> None:
    before = (
        "class M(BaseModel):\n"
        "    model_config = {'extra': 'forbid'}\n"
        "    via: str = Field('x', alias='from')\n"
        "    size: Annotated[int, Field(gt=0)] = Field(lt=9)\n"
        "    _secret: int = 1\n"
    )
    assert property_of("M", before) == {
        "type": "object",
        "properties": {
            "from": {"type": "string", "default": "x"},
            "size": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9},
        },
        "required": ["size"],
        "additionalProperties": False,
    }


@pytest.mark.requirement("LIB-10")
def test_the_last_def_of_a_name_is_described_and_one_in_an_except_branch_is_not() -> None:
    text = (
        "def tool_a(old): pass\ndef tool_a(new): pass\n"
        "try:\n    import fast\n    def tool_b(real): pass\nexcept ImportError:\n    def tool_b(stub): pass\n"
    )
    assert list(describe(text, "tool_a", file="t.py").input_schema["properties"]) == ["new"]
    assert list(describe(text, "tool_b", file="t.py").input_schema["properties"]) == ["real"]


@pytest.mark.requirement("LIB-03")
def test_a_function_that_is_not_there_is_an_error_that_names_file_and_function() -> None:
    with pytest.raises(SourceError, match=r"tools\.py: no function tool_gone"):
        describe("def tool_here(): pass", "tool_gone", file="tools.py")


@pytest.mark.requirement("SRC-11")
def test_a_decorator_in_the_file_names_and_describes_the_tool() -> None:
    text = "from sutler import tool\n@tool(name='better', description='Said here.', read_only=True)\ndef f(): 'Doc.'\n"
    described = describe(text, "f", file="tools.py")
    assert (described.name, described.description) == ("better", "Said here.")
    assert described.declared is not None
    assert described.declared.read_only is True


@pytest.mark.requirement("LIB-03")
@pytest.mark.parametrize(
    "data",
    [
        "é = 1\n".encode(),
        b"\xef\xbb\xbf" + "é = 1\n".encode(),
        "# -*- coding: latin-1 -*-\né = 1\n".encode("latin-1"),
        "é = 1\n".encode("utf-16"),
        b"\xfe\xff" + "é = 1\n".encode("utf-16-be"),
        "é = 1\n".encode("utf-32"),
    ],
)
def test_a_file_is_decoded_as_python_would_and_utf16_too(data: bytes) -> None:
    assert decode(data).endswith("é = 1\n")


@pytest.mark.requirement("LIB-03")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a = 1\nb = '\xe9'\n", r"x\.py:2: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (b"# caf\xe9\n", r"x\.py:1: byte 0xe9"),
        (b"# -*- coding: klingon -*-\n", r"x\.py: .*klingon"),
        (b"# -*- coding: ascii -*-\n\xe9", r"x\.py: not valid"),
        (b"\xff\xfea", r"x\.py: not valid utf-16"),
    ],
)
def test_bytes_that_are_not_text_are_an_error_that_says_where(data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        decode(data, file="x.py")
