"""Whether a value fits a schema, by jsonschema-rs, with schemas as the world writes them (DESIGN: Binding arguments).

Nothing is ever fetched: jsonschema-rs would read `file:` and `http:` references by itself, so it always gets a
retriever that refuses, and a remote reference is treated as "anything" and noted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from ..errors import SchemaError
from .walk import is_list, lookup, pointer, readable, rebuild, reference

if TYPE_CHECKING:
    import jsonschema_rs

DIALECTS: Final[Mapping[str, str]] = {
    "json-schema.org/draft/2020-12/schema": "https://json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema": "https://json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema": "http://json-schema.org/draft-07/schema#",
    "json-schema.org/draft-06/schema": "http://json-schema.org/draft-06/schema#",
    "json-schema.org/draft-04/schema": "http://json-schema.org/draft-04/schema#",
}
TRIED: Final = (
    DIALECTS["json-schema.org/draft/2020-12/schema"],
    DIALECTS["json-schema.org/draft-07/schema"],
    DIALECTS["json-schema.org/draft-04/schema"],
)
TYPES: Final = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))

# Names that tool authors write for JSON types; None is "anything". Compared in lower case (OBJECT, String, HashMap).
ALIASES: Final[Mapping[str, str | None]] = {
    "": None,
    "any": None,
    "arraylist": "array",
    "bool": "boolean",
    "byte": "integer",
    "char": "string",
    "decimal": "number",
    "dict": "object",
    "dictionary": "object",
    "double": "number",
    "enum": "string",
    "float": "number",
    "frozenset": "array",
    "hashmap": "object",
    "hashtable": "object",
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "list": "array",
    "long": "integer",
    "map": "object",
    "none": "null",
    "queue": "array",
    "set": "array",
    "short": "integer",
    "stack": "array",
    "str": "string",
    "text": "string",
    "tuple": "array",
    "vector": "array",
}
_NULL_IS_A_VALUE: Final = frozenset(("const", "default", "example"))
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


def check_schema(schema: object) -> tuple[str, ...]:
    """A structural look, without building a validator: microseconds, fit for a merge of a thousand tools (FH02).

    Returns what will be read otherwise than written, one sentence each. Raises SchemaError naming the part that cannot
    be used. What only a full build can find (a pattern that is no regular expression) shows at the first call.
    """
    return prepare(schema)[1]


def prepare(
    schema: object, untyped: frozenset[str] = frozenset(), *, of_arguments: bool = True
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The schema as validation reads it, a fresh copy, and what was read otherwise than written.

    of_arguments: the schema is one of arguments, which are an object; else it may be of any value.
    """
    if not isinstance(schema, Mapping):
        raise SchemaError(f"the schema is {_kind(schema)}, not an object")
    root = cast(Mapping[str, Any], schema)
    reader = _Reader(root)
    copy = cast(dict[str, Any], rebuild(root, reader.visit))
    if not of_arguments:
        return copy, reader.notes()
    kind = copy.setdefault("type", "object")
    if kind != "object" and not (is_list(kind) and "object" in kind):
        raise SchemaError(f"type: arguments are an object, the schema says {kind!r}")
    properties = cast(dict[str, Any], copy.get("properties") or {})
    for name in untyped & properties.keys():
        properties[name] = True
    return copy, reader.notes()


class _Reader:
    """Reads one schema: aliases of types, nulls where a keyword was meant to be absent, references that leave it."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.read_as: dict[str, str] = {}
        self.remote: dict[str, None] = {}
        self.nulls: dict[str, None] = {}

    def visit(self, schema: Mapping[str, Any], where: tuple[str | int, ...]) -> Mapping[str, Any] | bool:
        seen: Mapping[str, Any] = schema
        for keyword in schema:
            if type(keyword) is not str:
                raise SchemaError(f"{_at(where)}: the keyword {keyword!r} is {_kind(keyword)}, not text")
            if schema[keyword] is None and keyword not in _NULL_IS_A_VALUE:
                self.nulls[keyword] = None
                seen = {name: value for name, value in seen.items() if name != keyword}
        for keyword in _REFERENCES:
            if keyword in seen and not self._local(keyword, seen[keyword], where):
                return True if where else {}
        if "$schema" in seen:
            seen = {name: value for name, value in seen.items() if name != "$schema"}
        for keyword in ("properties", "patternProperties", "$defs", "definitions"):
            if keyword in seen:
                seen = self._named(seen, keyword, where)
        if "type" in seen:
            seen = self._typed(seen, where)
        return seen

    def _local(self, keyword: str, ref: object, where: tuple[str | int, ...]) -> bool:
        if not isinstance(ref, str):
            raise SchemaError(f"{_at((*where, keyword))} is {_kind(ref)}, not text")
        if not ref.startswith("#"):
            if ref.removesuffix("#").partition("://")[2] in DIALECTS:
                return True  # a meta-schema is built in
            self.remote[ref] = None
            return False
        parts = reference(ref)
        if parts is not None:
            try:
                lookup(self.root, parts)
            except (LookupError, ValueError):
                raise SchemaError(f"{_at((*where, keyword))}: {ref!r} points nowhere") from None
        return True

    def _named(self, schema: Mapping[str, Any], keyword: str, where: tuple[str | int, ...]) -> Mapping[str, Any]:
        table = schema[keyword]
        if not isinstance(table, Mapping):
            raise SchemaError(f"{_at((*where, keyword))} is {_kind(table)}, not an object")
        members = cast(Mapping[str, Any], table)
        for name, member in members.items():
            if type(name) is not str:
                raise SchemaError(f"{_at((*where, keyword))}: the name {name!r} is {_kind(name)}, not text")
            if member is None:
                self.nulls[name] = None
                members = {key: True if value is None else value for key, value in members.items()}
            elif not isinstance(member, (Mapping, bool)):
                raise SchemaError(f"{_at((*where, keyword, name))} is {_kind(member)}, not a schema")
        return schema if members is table else {**schema, keyword: members}

    def _typed(self, schema: Mapping[str, Any], where: tuple[str | int, ...]) -> Mapping[str, Any]:
        kinds = schema["type"]
        if isinstance(kinds, str) and kinds in TYPES:
            return schema
        if isinstance(kinds, str):
            kind = self._alias(kinds, where)
            if kind is None:
                return {name: value for name, value in schema.items() if name != "type"}
            return {**schema, "type": kind}
        if not is_list(kinds) or not kinds:
            raise SchemaError(f"{_at((*where, 'type'))} is {_kind(kinds)}, not a type or a list of types")
        read = [self._alias(kind, where) for kind in cast(Sequence[object], kinds)]
        if None in read:
            return {name: value for name, value in schema.items() if name != "type"}
        return {**schema, "type": list(dict.fromkeys(read))}

    def _alias(self, kind: object, where: tuple[str | int, ...]) -> str | None:
        if not isinstance(kind, str):
            raise SchemaError(f"{_at((*where, 'type'))}: {kind!r} is no type")
        if kind in TYPES:
            return kind
        lower = kind.strip().lower()
        if lower not in ALIASES and lower not in TYPES:
            raise SchemaError(f"{_at((*where, 'type'))}: {kind!r} is no JSON Schema type and none that is known")
        meant = lower if lower in TYPES else ALIASES[lower]
        self.read_as[kind] = meant or "anything"
        return meant

    def notes(self) -> tuple[str, ...]:
        notes = [f"$ref {ref!r} is remote: it is not fetched, and any value is taken there" for ref in self.remote]
        if self.read_as:
            pairs = ", ".join(f"{kind!r} as {meant}" for kind, meant in self.read_as.items())
            notes.append(f"types that JSON Schema does not have are read: {pairs}")
        if self.nulls:
            notes.append(f"null is read as absent for {', '.join(self.nulls)}")
        return tuple(notes)


class Validator:
    """One schema, built at first use (22 us or so) and kept. Safe to share between threads."""

    __slots__ = ("_built", "_map", "_of_arguments", "_schema", "_untyped")

    def __init__(self, schema: object, untyped: frozenset[str] = frozenset(), *, of_arguments: bool = True) -> None:
        self._schema = schema
        self._untyped = untyped
        self._of_arguments = of_arguments
        self._built: tuple[dict[str, Any], tuple[str, ...], jsonschema_rs.Validator] | None = None
        self._map: jsonschema_rs.ValidatorMap | None = None

    def _build(self) -> tuple[dict[str, Any], tuple[str, ...], jsonschema_rs.Validator]:
        if self._built is None:
            schema, notes = prepare(self._schema, self._untyped, of_arguments=self._of_arguments)
            declared = cast(Mapping[str, Any], self._schema).get("$schema")
            chosen = _dialect(declared)
            reason = ""
            for uri in dict.fromkeys((chosen, *TRIED) if chosen else TRIED):
                schema["$schema"] = uri
                try:
                    self._built = (
                        schema,
                        notes,
                        _compiler()(schema, retriever=_refuse, validate_formats=False, mask="it"),
                    )
                    break
                except ValueError as error:
                    reason = reason or _short(error)
            else:
                raise SchemaError(f"no JSON Schema dialect accepts the schema: {reason}")
        return self._built

    @property
    def schema(self) -> dict[str, Any]:
        """The schema as it is read: aliases resolved, untyped parameters open. Not to be changed."""
        return self._build()[0]

    @property
    def notes(self) -> tuple[str, ...]:
        return self._build()[1]

    @property
    def fits(self) -> Callable[[Any], bool]:
        """A function that says whether plain data fits; raises ValueError on what is no plain data."""
        return self._build()[2].is_valid

    def errors(self, value: Any) -> list[jsonschema_rs.ValidationError]:
        """Everything that does not fit, in the schema's order. Raises ValueError on what is no plain data."""
        return list(self._build()[2].iter_errors(value))

    def fits_at(self, where: Sequence[str | int], value: Any) -> bool | None:
        """Whether a value fits the subschema at a place; None when no schema is known there."""
        if self._map is None:
            import jsonschema_rs

            # most calls fit and never come here, so the 20-fold cost of a validator for every subschema is paid late
            self._map = jsonschema_rs.validator_map_for(self.schema, retriever=_refuse, validate_formats=False)
        there = self._map.get(pointer(where))
        if there is None:
            return None
        try:
            return there.is_valid(value)
        except ValueError:
            return False


def _compiler() -> Callable[..., Any]:
    import jsonschema_rs

    return jsonschema_rs.validator_for


def _dialect(declared: object) -> str | None:
    if not isinstance(declared, str):
        return None
    return DIALECTS.get(declared.removesuffix("#").partition("://")[2])


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is remote and is not fetched")


def _short(error: Exception) -> str:
    text = str(getattr(error, "message", error)).partition("\n")[0]
    place = readable(tuple(getattr(error, "instance_path", ())))
    return f"{place}: {text[:300]}" if place else text[:300]


def _at(where: Sequence[str | int]) -> str:
    return readable(where) or "the schema"


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return {
        "str": "text",
        "list": "a list",
        "tuple": "a list",
        "dict": "an object",
        "int": "a number",
        "float": "a number",
    }.get(type(value).__name__, f"a {type(value).__name__}")
