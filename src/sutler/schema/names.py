"""What a tool is called where its own name cannot be written: in programs, by providers, as a parameter.

Every name depends only on the pair (source, original name): a tool keeps it over restarts and whatever order it is
listed in. A legal name is kept as it is; any other is folded, and gets a hash of the pair when another tool has that
name already or when it is over 64 characters. A real name beats a folded one (DESIGN decision 7, SRC-09, FH09 to FH12).
"""

from __future__ import annotations

import hashlib
import keyword
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

Pair: TypeAlias = tuple[str, str]

MAX_NAME: Final = 64
_HASH: Final = 8

# Fixed lists, not dir(builtins): a name must not change with the Python version or what `site` adds.
BUILTINS: Final = frozenset(
    """
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
    BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
    ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup
    False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError
    ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError
    MemoryError ModuleNotFoundError NameError None NotADirectoryError NotImplemented NotImplementedError OSError
    OverflowError PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError
    ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError
    SystemExit TabError TimeoutError True TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
    UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError abs aiter all anext any ascii
    bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright credits delattr dict dir
    divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int
    isinstance issubclass iter len license list locals map max memoryview min next object oct open ord pow print
    property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip
    """.split()
)
# Modules that programs may import, and the one function that the language itself adds.
MODULES: Final = frozenset(("collections", "datetime", "functools", "itertools", "json", "math", "re"))
LANGUAGE: Final = frozenset(("parallel",))

_NOT_PROVIDER: Final = re.compile(r"[^A-Za-z0-9_-]")
_PROVIDER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")


def masks(name: str) -> str:
    """What a tool of this name would hide in a program ("the builtin", "the keyword", "the module"), or ""."""
    if keyword.iskeyword(name):
        return "the keyword"
    if name in BUILTINS:
        return "the builtin"
    if name in MODULES:
        return "the module"
    return "the function" if name in LANGUAGE else ""


def program_name(name: str) -> str:
    """The Python identifier of a tool when no other tool is near: `fetch_url`, `len_`, `t_2fa_check`.

    It never begins with an underscore, which programs may not call. `assign` settles collisions and length.
    """
    if _is_free(name):
        return name
    folded = _fold(name)
    return folded if _is_free(folded) else f"{folded}_"


def qualified_program_name(source: str, name: str) -> str:
    """`<source>__<tool>`, folded likewise: the name that reaches a tool whoever owns the bare one."""
    return program_name(f"{_fold(source)}__{_worded(name)}")


def provider_name(name: str) -> str:
    """A name that every provider takes (`^[A-Za-z_][A-Za-z0-9_-]*$`): other characters become `_`."""
    if _PROVIDER.match(name):
        return name
    folded = _NOT_PROVIDER.sub("_", name)
    return folded if folded[:1].isalpha() or folded[:1] == "_" else f"t_{folded}"


def assign(pairs: Iterable[Pair], taken: Collection[str] = ()) -> dict[Pair, str]:
    """The program name of every tool of an inventory: unique, at most 64 characters, whatever the order.

    Of two tools with the same legal name the first keeps it (so pass them by precedence); `taken` are names that are
    not to be used.
    """
    return _assign(pairs, lambda _, name: program_name(name), taken)


def assign_qualified(pairs: Iterable[Pair], taken: Collection[str] = ()) -> dict[Pair, str]:
    """The `<source>__<tool>` name of every tool, in any order; `taken` are the bare names, which win."""
    return _assign(sorted(set(pairs)), qualified_program_name, taken)


def assign_provider(pairs: Iterable[Pair]) -> dict[Pair, str]:
    """The provider name of every tool: unique and `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`."""
    return _assign(pairs, lambda _, name: provider_name(name), ())


def parameter_names(names: Iterable[str] | Mapping[str, Any]) -> dict[str, str]:
    """How a program spells each parameter, to the schema's own name: {"from_": "from", "cik_A": "cik-A"}."""
    real = list(names)
    taken = {name for name in real if _is_parameter(name)}
    spelled: dict[str, str] = {}
    for name in real:
        safe = safe_parameter(name, taken)
        taken.add(safe)
        spelled[safe] = name
    return spelled


def safe_parameter(name: str, taken: Collection[str] = ()) -> str:
    """The Python spelling of a parameter: itself if legal, else folded (`from_`), with a hash if that is taken."""
    if _is_parameter(name):
        return name
    folded = _worded(name) or "_"
    if not folded.isidentifier():
        folded = f"p_{folded}"
    if keyword.iskeyword(folded):
        folded = f"{folded}_"
    return folded if folded not in taken else f"{folded}_{_digest('', name)[:_HASH]}"


def _assign(pairs: Iterable[Pair], fold: Callable[[str, str], str], taken: Collection[str]) -> dict[Pair, str]:
    wanted = {pair: fold(*pair) for pair in dict.fromkeys(pairs)}
    exact = {name: pair for pair, name in reversed(wanted.items()) if pair[1] == name or "__".join(pair) == name}
    folded: dict[str, int] = {}
    for name in wanted.values():
        folded[name] = folded.get(name, 0) + 1
    used = set(taken)
    given: dict[Pair, str] = {}
    later: list[Pair] = []
    for pair, name in wanted.items():
        free = name not in taken and len(name) <= MAX_NAME
        if free and (exact.get(name) == pair or folded[name] == 1):
            given[pair] = name
            used.add(name)
        else:
            later.append(pair)
    for pair in sorted(later):
        given[pair] = _hashed(wanted[pair], pair, used)
        used.add(given[pair])
    return {pair: given[pair] for pair in wanted}


def _hashed(name: str, pair: Pair, used: Collection[str]) -> str:
    digest = _digest(*pair)
    for length in range(_HASH, len(digest) + 1):
        candidate = f"{name[: MAX_NAME - length - 1]}_{digest[:length]}"
        if candidate not in used:
            return candidate
    raise ValueError(f"no free name is left for {pair[0]}::{pair[1]}")


def _digest(source: str, name: str) -> str:
    return hashlib.blake2s(f"{source}\0{name}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _worded(name: str) -> str:
    if name.isascii() and name.isidentifier():
        return name
    # not \w: it also matches digits of scripts that no identifier may hold
    return "".join(one if f"a{one}".isidentifier() else "_" for one in unicodedata.normalize("NFKC", name))


def _fold(name: str) -> str:
    folded = _worded(name)
    return folded if folded[:1].isalpha() else f"t_{folded.lstrip('_')}"


def _is_free(name: str) -> bool:
    """An identifier that programs may call, and that hides nothing."""
    return _is_identifier(name) and not name.startswith("_") and not masks(name)


def _is_parameter(name: str) -> bool:
    return _is_identifier(name) and not keyword.iskeyword(name)


def _is_identifier(name: str) -> bool:
    # Python reads identifiers in NFKC: two that differ only before it would be one
    return name.isidentifier() and unicodedata.normalize("NFKC", name) == name
