"""The words every layer shares: what a tool is, what a call of it was, what came back.

Frozen values without behaviour of their own beyond reading themselves; standard library only.
Vocabulary: RFC 0002 (ToolSpec, ArgSpec, Grade), MCP (input_schema, annotations), LCP (the result wrapper).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, cast

JSON_TYPES: Mapping[str, str] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


def _short(self: Any) -> str:
    """A dataclass with only what is not as it always is; a REPL is where people look first."""
    shown: list[str] = []
    for part in fields(self):
        held = getattr(self, part.name)
        usual = part.default if part.default is not MISSING else None
        if part.default_factory is not MISSING:
            usual = part.default_factory()
        if held != usual:
            text = repr(held)
            shown.append(f"{part.name}={text if len(text) <= 200 else text[:200] + '...'}")
    return f"{type(self).__name__}({', '.join(shown)})"


GradeFrom = Literal["override", "declared", "hints", "undeclared"]
SourceKind = Literal["config", "library", "code", "function", "virtual", "mcp", "openapi"]
Trust = Literal["local", "mcp", "virtual"]
Outcome = Literal["allow", "ask", "deny", "depends"]
FailureKind = Literal[
    "not_found", "invalid_arguments", "denied", "timeout", "unavailable", "tool_error", "crashed", "limit"
]
Isolation = Literal["thread", "process"]
RunStatus = Literal["completed", "failed", "waiting", "cancelled"]


@dataclass(frozen=True, slots=True, order=False)
class Grade:
    """How far a tool reaches: `w` coupling to the world outside, `d` ceiling of its effects.

    w: 0 pure, 1 reads what is local, 2 reads the world, 3 acts on it.
    d: 0 none, 1 reads, 2 writes, 3 destructive. (RFC 0002 section 6.)
    """

    w: int
    d: int

    def __post_init__(self) -> None:
        for axis, value in (("w", self.w), ("d", self.d)):
            if type(value) is not int or not 0 <= value <= 3:
                raise ValueError(f"grade {axis} must be an integer from 0 to 3, not {value!r}")

    def join(self, other: Grade) -> Grade:
        """The least grade that covers both: the element-wise maximum."""
        return Grade(max(self.w, other.w), max(self.d, other.d))

    def covers(self, other: Grade) -> bool:
        return self.w >= other.w and self.d >= other.d

    def __str__(self) -> str:
        return f"({self.w}, {self.d})"


PURE = Grade(0, 0)
UNDECLARED = Grade(3, 3)


def compute_grade(specs: Iterable[ToolSpec]) -> Grade:
    """The grade of a set of tools: the join over all of them, (0, 0) for none."""
    grade = PURE
    for spec in specs:
        grade = grade.join(spec.grade)
    return grade


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnnotations:
    """MCP's behaviour hints. None means the hint is absent, which is not the same as false."""

    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    def to_mcp(self) -> dict[str, Any]:
        """The hints under MCP's names; absent ones left out."""
        pairs = {
            "title": self.title,
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }
        return {name: value for name, value in pairs.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a tool comes from.

    source: id of its source (an MCP server's id, a library's stem, `config`, `default`, `functions`, `code`,
        `virtual`).
    where: `file:line`, `module:function` or a server; for people and error messages.
    precedence: rank for the bare name, highest wins (RFC 0002 section 4).
    provenance: `own`, or `host:<file>` for a server that stands in another host's config.
    """

    source: str
    kind: SourceKind
    trust: Trust = "local"
    precedence: float = 0
    where: str = ""
    provenance: str = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgSpec:
    """One top-level parameter, as the RFC has it; `type` is a Python type name or `Any`."""

    name: str
    type: str = "Any"
    description: str = ""
    required: bool = False
    default: Any = None
    has_default: bool = False


_OF_SERVERS = frozenset(("mcp", "openapi"))
_NAMES_SOME = frozenset(
    ("properties", "additionalProperties", "allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if", "maxProperties")
)


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """Everything there is to know of a tool without running it. Identity is (origin.source, name).

    input_schema: a JSON Schema of type object; the truth about arguments. Property order is positional order.
    hidden: parameters that the host fills and a model never sees (LCP 4.5), e.g. {"tool_context"}; holds "**" when
        the function takes **kwargs.
    untyped: parameters shown as strings whose annotation was missing or unknown: binding accepts any JSON value for
        them (SCH-09).
    grade_from: override | declared | hints | undeclared (GRD-01).
    timeout: seconds one call may take; None takes the runtime's `call_seconds`.
    notes: what discovery could not do exactly, one sentence each.
    meta: whatever else a source wants to say, as plain data (e.g. {"_parsed_via_regex_fallback": True}).
    """

    name: str
    description: str = "No description provided."
    input_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    output_schema: Mapping[str, Any] | None = None
    annotations: ToolAnnotations = field(default_factory=ToolAnnotations)
    grade: Grade = UNDECLARED
    grade_from: GradeFrom = "undeclared"
    origin: Origin
    hidden: frozenset[str] = frozenset()
    untyped: frozenset[str] = frozenset()
    examples: Sequence[Any] = ()
    docs: str = ""
    timeout: float | None = None
    isolation: Isolation | None = None
    affinity: Literal["thread"] | None = None
    source_text: str | None = None
    notes: Sequence[str] = ()
    meta: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())

    @property
    def qualified(self) -> str:
        """The name that always reaches this tool: `source::tool`."""
        return f"{self.origin.source}::{self.name}"

    @property
    def read_only(self) -> bool:
        """Whether the tool declares that it changes nothing and its grade agrees (d <= 1)."""
        return self.grade.d <= 1 and self.grade_from != "undeclared" and self.annotations.read_only is not False

    @property
    def accepts_extra(self) -> bool:
        """Whether arguments outside the schema are passed on: **kwargs, additionalProperties, or a server's own schema
        that names none at all, which in JSON Schema allows any. `properties = {}` says that there are none.
        """
        schema = self.input_schema
        if "**" in self.hidden or schema.get("additionalProperties") not in (None, False):
            return True
        return self.origin.kind in _OF_SERVERS and schema.keys().isdisjoint(_NAMES_SOME)

    @cached_property
    def args(self) -> tuple[ArgSpec, ...]:
        """One ArgSpec per top-level property; nested, union, $ref and unknown types are `Any`."""
        properties: Mapping[str, Any] = self.input_schema.get("properties") or {}
        required: set[str] = set(self.input_schema.get("required") or ())
        found: list[ArgSpec] = []
        for name, raw in properties.items():
            schema = cast("Mapping[str, Any]", raw if isinstance(raw, Mapping) else {})
            kind = schema.get("type")
            found.append(
                ArgSpec(
                    name=name,
                    type=JSON_TYPES.get(kind, "Any") if isinstance(kind, str) and name not in self.untyped else "Any",
                    description=str(schema.get("description") or ""),
                    required=name in required,
                    default=schema.get("default"),
                    has_default="default" in schema,
                )
            )
        return tuple(found)

    @cached_property
    def digest(self) -> str:
        """BLAKE2 of what the tool promises; an approval or a stored run is bound to it (DESIGN: Types)."""
        body: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "annotations": self.annotations.to_mcp(),
            "grade": [self.grade.w, self.grade.d],
            "source_text": self.source_text,
            "server": self.meta.get("server"),
        }
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def with_origin(self, **changes: Any) -> ToolSpec:
        return replace(self, origin=replace(self.origin, **changes))

    def with_grade(self, grade: Grade, grade_from: GradeFrom = "override") -> ToolSpec:
        return replace(self, grade=grade, grade_from=grade_from)

    def __repr__(self) -> str:
        return f"<ToolSpec {self.qualified} {self.grade} {self.grade_from}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One change made to an argument so that it fits (path `a.b[0]`), or one key dropped (`to` is then None)."""

    path: str
    rule: str
    before: Any
    after: Any = None

    def to_dict(self) -> dict[str, Any]:
        return {"path": self.path, "rule": self.rule, "from": self.before, "to": self.after}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailure:
    """Why a call failed. `str()` is the message; it is never empty."""

    kind: FailureKind
    message: str
    retryable: bool = False

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What policy said of one call, and what decided it (a rule, a level, a person).

    depends: only in a plan, where the arguments, or the tool itself, will decide.
    """

    outcome: Outcome
    reason: str = ""
    by: str = ""
    how: str = ""

    def __str__(self) -> str:
        return self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call as policy sees it: the effective arguments, after repair and defaults. They are never changed after."""

    call_id: str
    spec: ToolSpec
    arguments: Mapping[str, Any]
    run_id: str | None = None
    step: int = 0
    repairs: Sequence[Repair] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What one call came to.

    output: the tool's value as plain data. error: None on success.
    status_code: 200, 404 unknown tool, 500 every other failure.
    content: MCP content blocks, when the tool gave any. extra: payload keys beside `output` (LCP 9).
    repairs: every change made to the arguments. notes: what was dropped or cut, one sentence each.
    stdout: what the tool printed. duration: seconds. handle: names the whole output when a model saw only part of it.
    wire: a server's whole answer, for a face that passes it on as it came; never stored or shown.
    """

    success: bool
    output: Any = None
    error: ToolFailure | None = None
    status_code: int = 200
    content: Sequence[Mapping[str, Any]] = ()
    extra: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    prompt_injection: Any = None
    context_files: Sequence[str] = ()
    repairs: Sequence[Repair] = ()
    notes: Sequence[str] = ()
    stdout: str = ""
    traceback: str | None = None
    duration: float = 0.0
    handle: str | None = None
    wire: Any = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The LCP wrapper: output, status_code, success always; error (text) and kind when failed; then extras."""
        wrapper: dict[str, Any] = {"output": self.output, "status_code": self.status_code, "success": self.success}
        if self.error is not None:
            wrapper["error"] = str(self.error)
            wrapper["kind"] = self.error.kind
        if self.traceback is not None:
            wrapper["traceback"] = self.traceback
        if self.prompt_injection is not None:
            wrapper["prompt_injection"] = self.prompt_injection
        if self.context_files:
            wrapper["context_files"] = list(self.context_files)
        if self.repairs:
            wrapper["repairs"] = [repair.to_dict() for repair in self.repairs]
        if self.notes:
            wrapper["notes"] = list(self.notes)
        if self.handle is not None:
            wrapper["handle"] = self.handle
        for name, value in self.extra.items():
            wrapper.setdefault(name, value)
        return wrapper

    __repr__ = _short


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEntry:
    """One call in a run, as it is shown afterwards: bounded and masked (PRG-10)."""

    step: int
    tool: str
    source: str
    args: Mapping[str, Any]
    result: Any = None
    duration: float = 0.0
    success: bool = True
    error: str | None = None
    kind: FailureKind | None = None
    repairs: Sequence[Repair] = ()
    decision: Decision | None = None
    line: int | None = None
    run_id: str | None = None
    stdout: str = ""

    __repr__ = _short


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What one program came to. `output` is its last expression; `variables` its own names, without `_x` and params.

    waiting: what the person is asked, of a run that waits: tool (source::tool), label, source, argv, line.
    """

    run_id: str
    status: RunStatus
    output: Any = None
    error: RunError | None = None
    stdout: str = ""
    variables: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    trace: Sequence[TraceEntry] = ()
    grade: Grade = PURE
    duration: float = 0.0
    waiting: Mapping[str, Any] | None = None

    @property
    def success(self) -> bool:
        return self.status == "completed"

    @property
    def effective_output(self) -> Any:
        """The output, else what was printed (stripped), else None. 0, "" and False are outputs."""
        if self.output is not None:
            return self.output
        return self.stdout.strip() or None

    __repr__ = _short


@dataclass(frozen=True, slots=True, kw_only=True)
class RunError:
    """Why a program failed: a limit's name or an exception's type, with the line of the program it stands on."""

    kind: Literal["rejected", "error", "limit", "cancelled", "crashed"]
    type: str
    message: str
    line: int | None = None
    limit: str | None = None
    traceback: str | None = None

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line is not None else ""
        return f"{self.type}: {self.message}{where}"
