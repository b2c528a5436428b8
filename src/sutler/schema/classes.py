"""Classes written in a library's files -> shapes: Enum, dataclass, NamedTuple, TypedDict, pydantic model (SCH-04)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Literal, cast

from . import known
from .annotations import choice, dotted_name, read
from .docstrings import NO_DESCRIPTION, clean, first_paragraph
from .module import ClassAt, Module, ValueAt
from .shapes import (
    NO_LIMITS,
    Anything,
    Default,
    EnumMember,
    Limits,
    Record,
    RecordField,
    Shape,
    Unknown,
    limits_of,
    marks_of,
    refined,
)

Kind = Literal["enum", "flag", "dataclass", "namedtuple", "typeddict", "model"]
BASES: dict[str, Kind] = {
    "enum.Enum": "enum",
    "enum.IntEnum": "enum",
    "enum.StrEnum": "enum",
    "enum.ReprEnum": "enum",
    "enum.Flag": "flag",
    "enum.IntFlag": "flag",
    "typing.NamedTuple": "namedtuple",
    "typing.TypedDict": "typeddict",
    "pydantic.BaseModel": "model",
    "pydantic_settings.BaseSettings": "model",
    "pydantic.RootModel": "flag",  # neither fields nor members: left unknown
}
DATACLASS = {"dataclasses.dataclass", "pydantic.dataclasses.dataclass"}
CLOSED: dict[str, bool | None] = {"dataclass": False, "namedtuple": False, "typeddict": None, "model": None}


def read_class(at: ClassAt) -> Shape:
    """The shape of a class statement; Unknown for a class without a JSON form."""
    cache = at.module.library.classes
    key = id(at.node)
    if key not in cache:
        kind = kind_of(at)
        if kind == "enum":
            members = enum_members(at)
            cache[key] = Unknown(at.node.name) if members is None else choice(list(members), at.node.name)
        elif kind is None or kind == "flag":
            cache[key] = Unknown(at.node.name)
        else:
            record = Record(at.node.name, kind, [], _doc(at.node), _extra(at, kind))
            cache[key] = record  # before its fields, which may name it
            with at.module.library.no_alias_open():
                record.fields.extend(_all_fields(at, kind).values())
    return cache[key]


def kind_of(at: ClassAt, depth: int = 0) -> Kind | None:
    if depth > 20:  # a class that is its own base
        return None
    if any(_full(at.module, decorator) in DATACLASS for decorator in at.node.decorator_list):
        return "dataclass"
    for base in at.node.bases:
        found = at.module.find(_base_name(base))
        if isinstance(found, ClassAt):
            kind = kind_of(found, depth + 1)
        else:
            kind = BASES.get(known.canonical(found)) if isinstance(found, str) else None
        if kind is not None:
            return kind
    return None


def _bases(at: ClassAt) -> Iterator[ClassAt]:
    for base in at.node.bases:
        found = at.module.find(_base_name(base))
        if isinstance(found, ClassAt):
            yield found


def _base_name(base: ast.expr) -> str:
    return dotted_name(base.value if isinstance(base, ast.Subscript) else base)


def _full(module: Module, node: ast.expr) -> str:
    found = module.find(dotted_name(node.func if isinstance(node, ast.Call) else node))
    return known.canonical(found) if isinstance(found, str) else ""


# -- enums


def enum_members(at: ClassAt) -> list[EnumMember] | None:
    """The members of an Enum class in order, aliases left out; None when it is no Enum or a value is not a literal."""
    if kind_of(at) != "enum":
        return None
    textual = any(_full(at.module, base) == "enum.StrEnum" for base in at.node.bases)
    members: list[EnumMember] = []
    for name, node in _assigned(at.node):
        if isinstance(node, ast.Call) and _full(at.module, node) in ("enum.nonmember", "builtins.property"):
            continue
        if isinstance(node, ast.Call) and _full(at.module, node) == "enum.auto" and not node.args:
            numbers = [one.value for one in members if type(one.value) is int]
            value: Any = name.lower() if textual else max(numbers, default=0) + 1
        else:
            default = at.module.value(node)
            if not default.known:
                return None
            value = default.value.value if isinstance(default.value, EnumMember) else default.value
        if not any(type(one.value) is type(value) and one.value == value for one in members):
            members.append(EnumMember(at.node.name, name, value))
    return members or None


def _assigned(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    yield target.id, statement.value


# -- classes with fields


def _all_fields(at: ClassAt, kind: Kind, depth: int = 0) -> dict[str, RecordField]:
    """Fields by attribute, those of base classes first, as Python orders them."""
    found: dict[str, RecordField] = {}
    if depth > 20:
        return found
    for base in reversed(list(_bases(at))):
        found.update(_all_fields(base, kind, depth + 1))
    is_dataclass = any(_full(at.module, decorator) in DATACLASS for decorator in at.node.decorator_list)
    if kind != "dataclass" or is_dataclass:
        for field in _own_fields(at, kind):
            found[field.attribute] = field
    if kind == "dataclass":
        for name in _excluded(at):
            found.pop(name, None)
    return found


def _own_fields(at: ClassAt, kind: Kind) -> Iterator[RecordField]:
    total = not any(
        word.arg == "total" and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in at.node.keywords
    )
    for statement in at.node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                if kind == "model" and (name.startswith("_") or name == "model_config"):
                    continue
                field = make_field(name, read(annotation, at.module), value, at.module, kind, total)
                if field is not None:
                    yield field
            case _:
                pass


def make_field(
    name: str, shape: Shape, value: ast.expr | None, module: Module, kind: Kind, total: bool = True
) -> RecordField | None:
    marks = marks_of(shape)
    if marks & {"class_var", "kw_only"}:
        return None
    limits = NO_LIMITS
    default: Default | None = None
    if isinstance(value, ast.Call) and _full(module, value) in ("dataclasses.field", "pydantic.Field"):
        limits = module.call_limits(value, module.value)
        if _full(module, value) == "dataclasses.field":
            limits = _dataclass_field(value, module)
        default = limits.default
    elif value is not None:
        default = module.value(value)
    if kind == "model":
        shape = refined(shape, limits)
        default = default or limits_of(shape).default
    required = default is None
    if kind == "typeddict":
        required = "required" in marks or (total and "not_required" not in marks)
    key = (limits_of(shape).alias if kind == "model" else None) or name
    return RecordField(name=key, attribute=name, shape=shape, required=required, default=default)


def _dataclass_field(call: ast.Call, module: Module) -> Limits:
    words = {word.arg: word.value for word in call.keywords}
    if "default" in words:
        return Limits(default=module.value(words["default"]))
    return Limits(default=Default(text="...")) if "default_factory" in words else NO_LIMITS


def _excluded(at: ClassAt) -> Iterator[str]:
    """Fields that the constructor does not take: field(init=False)."""
    for statement in at.node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call):
                for word in call.keywords:
                    if word.arg == "init" and isinstance(word.value, ast.Constant) and word.value.value is False:
                        yield name
            case _:
                pass


def _doc(node: ast.ClassDef) -> str:
    text = first_paragraph(clean(ast.get_docstring(node, clean=False)))
    return "" if text == NO_DESCRIPTION else text


def _extra(at: ClassAt, kind: Kind) -> bool | None:
    """Whether keys beside the fields are taken: a class made by its constructor takes none, a model says so itself."""
    if kind != "model":
        return CLOSED[kind]
    said: ast.expr | None = next((word.value for word in at.node.keywords if word.arg == "extra"), None)
    for name, node in _config(at.node):
        if name == "model_config" and isinstance(node, ast.Call):
            said = next((word.value for word in node.keywords if word.arg == "extra"), said)
        elif name == "model_config" and isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            said = next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "extra"), said)
    if isinstance(said, ast.Constant):
        return {"forbid": False, "allow": True}.get(str(said.value))
    return next((_extra(base, kind) for base in _bases(at)), None)


def _config(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


# -- classes made by a call


def read_made(at: ValueAt, call: ast.Call, maker: str) -> Shape | None:
    """`X = TypedDict("X", {...})`, NamedTuple, namedtuple and Enum with literal arguments."""
    cache = at.module.library.classes
    key = id(call)
    if key not in cache:
        if maker in ("enum.Enum", "enum.StrEnum", "enum.IntEnum") and len(call.args) == 2:
            cache[key] = _made_enum(at, call.args[1], textual=maker == "enum.StrEnum")
        elif maker in ("typing.TypedDict", "typing.NamedTuple", "collections.namedtuple") and len(call.args) >= 2:
            kind = "typeddict" if maker == "typing.TypedDict" else "namedtuple"
            record = Record(_text(call.args[0]) or at.name, kind, [], "", CLOSED[kind])
            cache[key] = record
            with at.module.library.no_alias_open():
                record.fields.extend(_made_fields(at, call, maker))
        else:
            return None
    return cache[key]


def _made_enum(at: ValueAt, names: ast.expr, *, textual: bool) -> Shape:
    default = at.module.value(names)
    value: Any = default.value if default.known else None
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    if isinstance(value, dict):
        return choice(list(cast("dict[Any, Any]", value).values()), at.name)
    if not isinstance(value, list | tuple) or not value:
        return Unknown(at.name)
    items = list(cast("list[Any]", value))
    if all(isinstance(item, str) for item in items):
        return choice([item.lower() if textual else number for number, item in enumerate(items, 1)], at.name)
    if all(type(item) in (tuple, list) and len(item) == 2 for item in items):
        return choice([item[1] for item in items], at.name)
    return Unknown(at.name)


def _made_fields(at: ValueAt, call: ast.Call, maker: str) -> Iterator[RecordField]:
    kind: Kind = "typeddict" if maker == "typing.TypedDict" else "namedtuple"
    total = not any(
        word.arg == "total" and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in call.keywords
    )
    for name, node in _pairs(at, call.args[1]):
        shape: Shape = Anything() if node is None else read(node, at.module)
        field = make_field(name, shape, None, at.module, kind, total)
        if field is not None:
            yield field


def _pairs(at: ValueAt, node: ast.expr) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None and (name := _text(key)):
                yield name, value
    elif isinstance(node, ast.List | ast.Tuple) and all(isinstance(item, ast.Tuple) for item in node.elts):
        for item in node.elts:
            if isinstance(item, ast.Tuple) and len(item.elts) == 2 and (name := _text(item.elts[0])):
                yield name, item.elts[1]
    else:
        names = at.module.value(node).value
        words: Any = names.replace(",", " ").split() if isinstance(names, str) else names or ()
        for name in words:
            yield str(name), None


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
