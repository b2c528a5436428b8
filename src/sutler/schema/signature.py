"""A signature with its docstring -> what a tool shows: the last step, shared by both readers (SCH-01 .. SCH-09)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..closest import closest
from .decorator import Declared
from .docstrings import clean, first_paragraph, read_parameters
from .emit import Emitter
from .shapes import Default, Limits, Record, Shape, Unknown, bare, limits_of, refined
from .values import NOT_JSON, as_json

# the host fills these; a model never sees them (LCP 4.5)
HOST_PARAMETERS = frozenset(
    {"tool_context", "lollms_client_instance", "discussion_instance", "user_interaction_handler"}
)

Kind = Literal["positional_only", "normal", "var_positional", "keyword_only", "var_keyword"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """`shape` is None without an annotation, `default` None for a parameter that must be given."""

    name: str
    kind: Kind
    shape: Shape | None = None
    default: Default | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What one function shows of itself as a tool.

    input_schema: JSON Schema of type object, properties in signature order; `required` is absent when nothing is.
    output_schema: only for a return annotation that names its fields (dataclass, TypedDict, pydantic model).
    hidden: host parameters it declares; "**" when it takes **kwargs. untyped: shown as strings, any value accepted.
    positional_only: names that Python takes by position only, in order. docs: the whole docstring, cleaned.
    notes: what could not be said exactly, one sentence each.
    """

    name: str
    is_async: bool = False
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    hidden: frozenset[str] = frozenset()
    untyped: frozenset[str] = frozenset()
    positional_only: tuple[str, ...] = ()
    docs: str = ""
    notes: tuple[str, ...] = ()
    declared: Declared | None = None


def assemble(
    *,
    name: str,
    is_async: bool,
    parameters: Sequence[Parameter],
    returns: Shape | None,
    docstring: str | None,
    declared: Declared | None,
    notes: Sequence[str] = (),
) -> Described:
    """The one place where a tool's schema is put together. The name is `@tool(name=...)`'s, else the function's."""
    visible = [p for p in parameters if not p.kind.startswith("var_") and p.name not in HOST_PARAMETERS]
    hidden = {p.name for p in parameters if p.name in HOST_PARAMETERS}
    if any(p.kind == "var_keyword" for p in parameters):
        hidden.add("**")
    doc = clean(docstring)
    names = [p.name for p in visible]
    texts, strangers = read_parameters(doc, names)
    emitter = Emitter(p.shape for p in visible if p.shape is not None)
    said = [*notes, *_strangers(strangers, parameters, texts)]
    properties: dict[str, Any] = {}
    required: list[str] = []
    untyped: set[str] = set()
    for parameter in visible:
        properties[parameter.name] = _property(parameter, texts.get(parameter.name, ""), emitter)
        if _default(parameter) is None:
            required.append(parameter.name)
        if parameter.shape is None or isinstance(bare(parameter.shape), Unknown):
            untyped.add(parameter.name)
        for text in filter(None, emitter.unknown):
            said.append(f"parameter {parameter.name!r}: `{text}` has no JSON form; any value is passed on as it comes")
        emitter.unknown.clear()
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if emitter.defs:
        schema["$defs"] = emitter.defs
    return Described(
        name=(declared.name if declared else None) or name,
        is_async=is_async,
        description=(declared.description if declared else None) or first_paragraph(doc, names),
        input_schema=schema,
        output_schema=_output(returns),
        hidden=frozenset(hidden),
        untyped=frozenset(untyped),
        positional_only=tuple(p.name for p in parameters if p.kind == "positional_only"),
        docs=doc,
        notes=tuple(dict.fromkeys(said)),
        declared=declared,
    )


def _strangers(names: Sequence[str], parameters: Sequence[Parameter], texts: Mapping[str, str]) -> Iterator[str]:
    """What a docstring describes as a parameter and is none: most often one that was misspelled or renamed."""
    if any(p.kind == "var_keyword" for p in parameters):
        return  # any name may be meant
    known = {p.name for p in parameters}
    for name in names:
        if name not in known:
            near = closest(name, known - texts.keys() - HOST_PARAMETERS)
            meant = f"; did you mean {near}?" if near else ""
            yield f"the docstring describes {name}, which is no parameter{meant}"


def with_field(shape: Shape | None, limits: Limits) -> Shape:
    """A parameter whose default is `Field(...)`; an annotation that is not there is unknown."""
    return refined(Unknown("") if shape is None else shape, limits)


def _property(parameter: Parameter, text: str, emitter: Emitter) -> dict[str, Any]:
    shape = parameter.shape
    if shape is None:
        schema: dict[str, Any] = {"type": "string", "description": text} if text else {"type": "string"}
    else:
        schema = emitter.described(shape, text)
        if isinstance(bare(shape), Unknown):
            schema = {"type": "string", **schema}
    default = _default(parameter)
    if default is None:
        return schema
    value = as_json(default, shape)
    if value is not NOT_JSON:
        return {**schema, "default": value}
    words = f"(default: {default.text})"
    given = schema.get("description")
    return {**schema, "description": f"{given} {words}" if given else words}


def _default(parameter: Parameter) -> Default | None:
    """Python's default, else the one in `Annotated[..., Field(default=...)]`, which conversion fills in."""
    if parameter.default is None and parameter.shape is not None:
        return limits_of(parameter.shape).default
    return parameter.default


def _output(returns: Shape | None) -> dict[str, Any] | None:
    """A NamedTuple is an array in JSON, and a bare dict promises nothing, so neither makes an output schema."""
    record = bare(returns) if returns is not None else None
    if not isinstance(record, Record) or record.kind == "namedtuple":
        return None
    emitter = Emitter([record])
    schema = emitter.schema(record)
    if emitter.defs:
        reference = schema.pop("$ref", None)
        if reference is not None:  # MCP wants type object at the root
            schema = dict(emitter.defs[reference.rpartition("/")[2]])
        schema["$defs"] = emitter.defs
    return schema
