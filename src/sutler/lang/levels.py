"""What each level of the language allows, and what the engine behind it really has.

calls < program < full (DESIGN: The language). Everything not listed is refused, so syntax that a later Python adds
is refused too. The tables of engine facts were read off pydantic-monty 1.4; a test compares them with the engine.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LEVELS: Final = ("calls", "program", "full")
PARALLEL: Final = "parallel"

_CALLS_BUILTINS = _words(
    """
    abs all any bool dict enumerate float int isinstance len list max min print range repr reversed round set
    sorted str sum tuple zip
    """
)
EXCEPTIONS: Final = _words(
    """
    ArithmeticError AssertionError AttributeError BaseException Exception FileExistsError FileNotFoundError
    ImportError IndexError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
    ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError PermissionError
    RecursionError RuntimeError StopIteration SyntaxError SystemExit TimeoutError TypeError UnboundLocalError
    UnicodeDecodeError UnicodeEncodeError ValueError ZeroDivisionError
    """
)
_PROGRAM_BUILTINS = (
    _CALLS_BUILTINS
    | EXCEPTIONS
    | _words(
        """
    Ellipsis NotImplemented bin bytes chr complex divmod filter format frozenset hasattr hash hex id iter map next
    oct ord pow slice type
    """
    )
)
# Not even `full` has eval, exec and locals: they would hide from the plan which functions run.
_FULL_BUILTINS = _PROGRAM_BUILTINS | {"getattr", "setattr", "object", "property"}
ENGINE_BUILTINS: Final = _FULL_BUILTINS | {"eval", "exec", "locals", "open"}
"""Names that the engine resolves itself; a tool of such a name would never be called."""

_BUILTINS = {"calls": _CALLS_BUILTINS, "program": _PROGRAM_BUILTINS, "full": _FULL_BUILTINS}

MEMBERS: Final[dict[str, frozenset[str]]] = {
    "json": _words("JSONDecodeError dump dumps load loads"),
    "re": _words(
        """
    A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern S compile error escape findall finditer fullmatch
    match search split sub
    """
    ),
    "math": _words(
        """
    acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1
    fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma
    log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau trunc
    ulp
    """
    ),
    "datetime": _words("date datetime time timedelta timezone"),
    "collections": _words("Counter defaultdict deque namedtuple"),
    "itertools": _words(
        """
    accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse groupby
    islice pairwise permutations product repeat starmap takewhile tee zip_longest
    """
    ),
    "functools": _words("cache lru_cache partial reduce"),
}
_PROGRAM_MODULES = frozenset(MEMBERS)
_FULL_MODULES = _PROGRAM_MODULES | _words(
    """
    base64 binascii bisect copy csv dataclasses decimal hashlib os pathlib random sys time tomllib typing
    unicodedata
    """
)
_MODULES: dict[str, frozenset[str]] = {"calls": frozenset(), "program": _PROGRAM_MODULES, "full": _FULL_MODULES}

_CALLS_NODES = _words(
    """
    Module Expr Assign AugAssign AnnAssign For If Break Continue Pass BoolOp BinOp UnaryOp IfExp Dict Set List
    Tuple ListComp SetComp DictComp GeneratorExp comprehension Compare Call keyword JoinedStr FormattedValue
    Constant Attribute Subscript Slice Starred Name Lambda arguments arg Add Sub Mult Div FloorDiv Mod Pow And Or
    Not UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn Load Store
    """
)
_PROGRAM_NODES = _CALLS_NODES | _words(
    """
    FunctionDef Return While Try ExceptHandler Raise Assert NamedExpr Import ImportFrom alias Global Nonlocal
    BitOr BitAnd BitXor LShift RShift Invert
    """
)
_FULL_NODES = _PROGRAM_NODES | _words(
    """
    ClassDef With withitem MatMult Match match_case MatchValue MatchSingleton MatchSequence MatchMapping
    MatchClass MatchStar MatchAs MatchOr TypeVar ParamSpec TypeVarTuple
    """
)
NODES: Final = {"calls": _CALLS_NODES, "program": _PROGRAM_NODES, "full": _FULL_NODES}


def builtins_for(level: str) -> frozenset[str]:
    """The names a program of this level may use without defining them, `parallel` included; tools are extra."""
    _known(level)
    return _BUILTINS[level] | {PARALLEL}


def modules_for(level: str) -> frozenset[str]:
    """The modules a program of this level may import; none for `calls`."""
    _known(level)
    return _MODULES[level]


def _known(level: str) -> None:
    if level not in LEVELS:
        raise ValueError(f"no language level {level!r}; there are {', '.join(LEVELS)}")
