"""Live annotations -> shapes. The twin of module.py and classes.py: the same class gives the same shape (SCH-08)."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, cast, get_args, get_origin

from . import known
from .annotations import BOUNDS, choice, read_text, usable_bounds
from .classes import CLOSED, Kind
from .docstrings import NO_DESCRIPTION, clean, first_paragraph
from .shapes import (
    NO_LIMITS,
    NULL,
    Anything,
    Default,
    EnumMember,
    Limits,
    Marked,
    Record,
    RecordField,
    Shape,
    Unknown,
    either,
    limits_of,
    marks_of,
    refined,
)
from .values import is_json, spelled

Namespace = dict[str, Any]
FROM_TYPING = {"Annotated", "Literal", "Optional", "Union"}


class Reader:
    """Reads the annotations of one function and of the classes they name. Also the Scope for its string annotations."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self._classes: dict[type, Shape] = {}
        self._open: set[int | str] = set()  # the aliases being read

    def read(self, annotation: Any) -> Shape:
        try:
            return self._read(annotation)
        except RecursionError:
            return Unknown("a type that is nested too deeply")
        except Exception:  # an annotation may be any object, and do anything when looked at
            return Unknown(type(annotation).__name__)

    # -- the Scope protocol, for strings that do not evaluate as a whole

    def resolve(self, dotted: str) -> str | Shape | None:
        found = self._lookup(dotted)
        if found is _ABSENT:
            return known.LOOSE.get(dotted)
        if inspect.isfunction(found):
            return known.canonical(f"{found.__module__}.{found.__qualname__}")
        name = full_name(found)
        if known.bare(name) is not None or name in {f"typing.{form}" for form in FROM_TYPING}:
            return name
        return self._read(found)

    def text(self, text: str) -> Shape:
        if text in self._open:
            return Anything()
        self._open.add(text)
        try:
            found = self._evaluate(text)
            return read_text(text, self) if found is _ABSENT else self._read(found)
        finally:
            self._open.discard(text)

    def value(self, node: ast.expr) -> Default:
        return default_of(self._evaluate(ast.unparse(node)))

    def limits(self, node: ast.expr) -> Limits:
        return limits_of_object(self._evaluate(ast.unparse(node)))

    # -- annotations

    def _read(self, annotation: Any) -> Shape:
        if annotation is None or annotation is type(None):
            return NULL
        if isinstance(annotation, str):
            return self.text(annotation)
        if isinstance(annotation, typing.ForwardRef):
            return self.text(annotation.__forward_arg__)
        if isinstance(annotation, typing.TypeVar):
            if annotation.__constraints__:
                return either(self._read(one) for one in annotation.__constraints__)
            return Anything() if annotation.__bound__ is None else self._read(annotation.__bound__)
        if isinstance(annotation, typing.NewType):
            return self._read(annotation.__supertype__)
        if isinstance(annotation, dataclasses.InitVar):
            return Marked(self._read(cast("Any", annotation).type), "init_var")
        if isinstance(annotation, type) and not get_args(annotation):
            return self._class(annotation)
        if id(annotation) in self._open:  # an alias that holds itself
            return Anything()
        self._open.add(id(annotation))
        try:
            if type(annotation).__name__ == "TypeAliasType":  # `type X = ...`
                return self._read(cast("Any", annotation).__value__)
            return self._form(annotation)
        finally:
            self._open.discard(id(annotation))

    def _form(self, annotation: Any) -> Shape:
        """A typing form: a subscript, a union, or a special name."""
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is None or (not args and annotation not in (tuple[()], typing.Tuple[()])):  # noqa: UP006
            found = known.bare(full_name(annotation), origin)
            return Unknown(_written(annotation)) if found is None else found
        if origin is types.UnionType or origin is typing.Union:
            return _named(either(self._read(one) for one in args), annotation)
        if origin is typing.Literal or full_name(origin).endswith(".Literal"):
            enums = [type(one).__name__ for one in args if isinstance(one, enum.Enum)]
            same = len(set(enums)) == 1 and len(enums) == len(args)
            make: Any = args[0].__class__ if same else None
            shape = choice([_plain_member(one) for one in args], enums[-1] if enums else "", make)
            return _named(shape, annotation)
        metadata: tuple[Any, ...] | None = getattr(annotation, "__metadata__", None)
        if metadata is not None:
            limits = NO_LIMITS
            for part in metadata:
                limits = limits.then(limits_of_object(part))
            return refined(self._read(args[0]), limits)
        shapes = [None if one is ... else self._read(one) for one in args]
        found = known.generic(full_name(origin), shapes, origin)
        if found is not None:
            return _named(found, annotation)
        return self._class(origin) if isinstance(origin, type) else Unknown(_written(annotation))

    def _evaluate(self, text: str) -> Any:
        try:
            return eval(text, self.namespace)
        except Exception:  # names that are not there, forms that this Python does not take
            return _ABSENT

    def _lookup(self, dotted: str) -> Any:
        return _ABSENT if not dotted else self._evaluate(dotted)

    # -- classes

    def _class(self, cls: type) -> Shape:
        found = known.bare(full_name(cls), cls)
        if found is not None:
            return found
        if cls not in self._classes:
            kind = kind_of(cls)
            if kind == "enum":
                members = list(cast("Iterator[enum.Enum]", iter(cast("Any", cls))))
                self._classes[cls] = choice([_plain_member(one) for one in members], cls.__name__, cls)
            elif kind is None or kind == "flag":
                self._classes[cls] = Unknown(cls.__name__)
            else:
                record = Record(cls.__name__, kind, [], _doc(cls, kind), _extra(cls, kind), cls)
                self._classes[cls] = record  # before its fields, which may name it
                outer = self.namespace, self._open
                self._open = set()
                try:
                    record.fields.extend(self._fields(cls, kind))
                finally:
                    self.namespace, self._open = outer
        return self._classes[cls]

    def _fields(self, cls: type, kind: Kind) -> Iterator[RecordField]:
        outer, last = self.namespace, None
        for name, annotation, home in _annotated(cls, kind):
            if home is not last:  # its strings mean what they mean in the file it stands in
                self.namespace = {**outer, **vars(sys.modules.get(home.__module__, _NO_MODULE))}
                last = home
            shape = self.read(annotation)
            if marks_of(shape) & {"class_var", "kw_only"}:
                continue
            made = getattr(self, f"_{kind}_field")(cls, name, shape)
            if made is not None:
                yield made

    def _dataclass_field(self, cls: type, name: str, shape: Shape) -> RecordField | None:
        one = getattr(cls, "__dataclass_fields__", {}).get(name)
        if one is None or not one.init:
            return None
        default: Default | None = None
        if one.default is not dataclasses.MISSING:
            limits = limits_of_object(one.default) if is_field_info(one.default) else None
            if limits is not None:
                return RecordField(
                    name=name, attribute=name, shape=shape, required=limits.default is None, default=limits.default
                )
            default = default_of(one.default)
        elif one.default_factory is not dataclasses.MISSING:
            default = Default(text="...")
        return RecordField(name=name, attribute=name, shape=shape, required=default is None, default=default)

    def _namedtuple_field(self, cls: type, name: str, shape: Shape) -> RecordField:
        defaults: dict[str, Any] = getattr(cls, "_field_defaults", {})
        default = default_of(defaults[name]) if name in defaults else None
        return RecordField(name=name, attribute=name, shape=shape, required=default is None, default=default)

    def _typeddict_field(self, cls: type, name: str, shape: Shape) -> RecordField:
        marks = marks_of(shape)
        required_keys: frozenset[str] = getattr(cls, "__required_keys__", frozenset[str]())
        required = "required" in marks or (name in required_keys and "not_required" not in marks)
        return RecordField(name=name, attribute=name, shape=shape, required=required)

    def _model_field(self, cls: type, name: str, shape: Shape) -> RecordField | None:
        info = getattr(cls, "model_fields", {}).get(name)
        if info is None:
            return None
        limits = limits_of_object(info)
        shape = refined(shape, limits)
        default = limits_of(shape).default
        return RecordField(
            name=limits_of(shape).alias or name, attribute=name, shape=shape, required=default is None, default=default
        )


_ABSENT: Any = object()
_NO_MODULE = types.ModuleType("none")


def kind_of(cls: Any) -> Kind | None:
    if issubclass(cls, enum.Flag):
        return "flag"
    if issubclass(cls, enum.Enum):
        return "enum"
    if typing.is_typeddict(cls) or type(cls).__name__ == "_TypedDictMeta":
        return "typeddict"
    if tuple in cls.__mro__ and hasattr(cls, "_fields"):
        return "namedtuple"
    names = {full_name(base) for base in cls.__mro__}
    if "pydantic.RootModel" in names:
        return "flag"
    if "pydantic.BaseModel" in names:
        return "model"
    return "dataclass" if dataclasses.is_dataclass(cls) else None


def full_name(thing: Any) -> str:
    """`module.name` of a class or typing form, in its one spelling; `list` stands for typing.List too."""
    if isinstance(thing, type):
        return known.canonical(f"{thing.__module__}.{thing.__qualname__}")
    origin = get_origin(thing)
    if isinstance(origin, type) and not get_args(thing):  # typing.List without arguments
        return known.canonical(f"{origin.__module__}.{origin.__qualname__}")
    text = repr(thing)
    return known.canonical(text if text.startswith(("typing.", "typing_extensions.")) else "")


def own_annotations(thing: Any) -> dict[str, Any]:
    """A function's or class's own annotations as they stand, strings unread."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(thing, format=annotationlib.Format.FORWARDREF)
    try:
        return inspect.get_annotations(thing)
    except TypeError:
        return {}


def default_of(value: Any) -> Default:
    """A default that is there as a value only."""
    if isinstance(value, enum.Enum):
        member = _plain_member(value)
        return Default(text=repr(member), value=member, known=True)
    if type(value) in (tuple, set, frozenset):
        known_items = all(is_json(item) for item in value)
        return Default(text=spelled(value), value=value, known=known_items)
    if is_json(value) or value is ... or isinstance(value, bytes | complex):
        return Default(text=spelled(value), value=value, known=True)
    if isinstance(value, float):
        return Default(text=f"float('{value}')")
    name = getattr(value, "__name__", None)
    if isinstance(name, str):
        return Default(text="a function" if name == "<lambda>" else name)
    return Default(text=f"a {type(value).__name__}")  # its repr may hold an address, or a secret


def limits_of_object(thing: Any) -> Limits:
    """What one piece of live metadata says: a text, Field(...), Ge(1), Doc(...), StringConstraints(...)."""
    if isinstance(thing, str):
        return Limits(description=thing)
    if thing is _ABSENT or isinstance(thing, type):
        return NO_LIMITS
    if not is_field_info(thing):
        words = getattr(thing, "documentation", None)
        return Limits(description=words if isinstance(words, str) else "", bounds=_bounds(thing))
    found: dict[str, Any] = {}
    for part in thing.metadata:
        found.update(_bounds(part))
    default: Default | None = None
    if thing.default_factory is not None:
        default = Default(text=f"{_callable_name(thing.default_factory)}()")
    elif not thing.is_required():
        default = default_of(thing.default)
    examples = thing.examples
    alias = thing.validation_alias if isinstance(thing.validation_alias, str) else thing.alias
    return Limits(
        description=thing.description or "",
        bounds=found,
        examples=tuple(cast("list[Any]", examples)) if isinstance(examples, list) else (),
        title=thing.title or "",
        alias=alias,
        default=default,
        fill=None if default is None else _fill(thing),
    )


def is_field_info(thing: Any) -> bool:
    """Whether a default is pydantic's Field(...); asked without importing pydantic."""
    return any(full_name(base) == "pydantic.FieldInfo" for base in type(thing).__mro__)


def _fill(info: Any) -> Callable[[dict[str, Any]], Any]:
    """The default of a Field, made anew for each call; a factory may ask for the other arguments."""
    return lambda given: info.get_default(call_default_factory=True, validated_data=given)


def _bounds(thing: Any) -> dict[str, Any]:
    found = {key: getattr(thing, key, None) for key in BOUNDS}
    found["pattern"] = getattr(found["pattern"], "pattern", found["pattern"])  # a compiled one
    return usable_bounds({key: value for key, value in found.items() if value is not None})


def _callable_name(thing: Any) -> str:
    name = getattr(thing, "__name__", type(thing).__name__)
    return "lambda" if name == "<lambda>" else name


def _annotated(cls: type, kind: Kind) -> Iterator[tuple[str, Any, type]]:
    """Field names with annotations and the class they stand in, those of base classes first."""
    if kind == "namedtuple":
        home = next(base for base in reversed(cls.__mro__) if hasattr(base, "_fields"))
        annotations = own_annotations(home)
        for name in cast("Any", cls)._fields:
            yield name, annotations.get(name, typing.Any), home
        return
    if kind == "typeddict":  # it keeps no base classes: all its annotations are its own
        for name, annotation in own_annotations(cls).items():
            yield name, annotation, cls
        return
    found: dict[str, tuple[Any, type]] = {}
    for base in reversed(cls.__mro__):
        is_home = "__dataclass_fields__" in vars(base) if kind == "dataclass" else base is not object
        if is_home and full_name(base) != "pydantic.BaseModel":
            for name, annotation in own_annotations(base).items():
                found[name] = (annotation, base)
    for name, (annotation, home) in found.items():
        yield name, annotation, home


def _doc(cls: type, kind: Kind) -> str:
    text = vars(cls).get("__doc__")
    if not isinstance(text, str) or (kind in ("dataclass", "namedtuple") and text.startswith(f"{cls.__name__}(")):
        return ""
    found = first_paragraph(clean(text))
    return "" if found == NO_DESCRIPTION else found


def _extra(cls: type, kind: Kind) -> bool | None:
    if kind != "model":
        return CLOSED[kind]
    config = getattr(cls, "model_config", {})
    return {"forbid": False, "allow": True}.get(str(config.get("extra")))


def _plain_member(value: Any) -> Any:
    if not isinstance(value, enum.Enum):
        return value
    return EnumMember(type(value).__name__, value.name, value.value)


def _named(shape: Shape, annotation: Any) -> Shape:
    return Unknown(_written(annotation)) if isinstance(shape, Unknown) else shape


def _written(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) or repr(annotation).replace("typing.", "")
