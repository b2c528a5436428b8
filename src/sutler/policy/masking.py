"""Secrets stay out of trace, log and store: by a parameter's name, by its schema, and by value (PRG-10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any, cast

MASK = "***"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALWAYS = _words("password passwd passphrase passcode pwd secret authorization auth credential cookie bearer otp totp")
_RUN_TOGETHER = re.compile(
    r".*(?:password|passwd|secret|apikey|privatekey|secretkey|accesskey|(?:access|auth|refresh|bearer|api|id)token)s?"
)
_KEYS = _words("api private access secret signing encryption auth ssh master account storage shared session")
# Words after a secret's name that say it is not the secret itself: `password_length`, `secret_name`, `api_key_id`.
_ABOUT = _words(
    """age arn budget count dir directory enabled expires expiration expiry field file filename folder format hint
    id ids index kind label length len level limit limits manager max min mode name names path policy position prefix
    prompt required rotation rule rules scheme size strength suffix ttl type types uri url usage version"""
)
# Words before `token` that make it a piece of text or a place in a list.
_PIECES = _words(
    """bos cls completion continuation cursor end eos first input last mask max min next num output pad page prompt
    sep start stop sync total unk word"""
)
_SCALARS = (float, bool, type(None))
_DEEPEST = 100


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a parameter of this name holds a secret: password, api_key, accessToken..., but not max_tokens."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and (words[-1].isdigit() or words[-1] in ("value", "text", "string")):
        words.pop()
    if not words or words[-1] in _ABOUT:
        return False
    for word in words:
        if word in _ALWAYS or word.removesuffix("s") in _ALWAYS or _RUN_TOGETHER.fullmatch(word):
            return True
    before = words[-2] if len(words) > 1 else ""
    if words[-1] == "token":
        return before not in _PIECES
    if words[-1] == "tokens":
        return before in _KEYS or before in ("refresh", "bearer")
    return words[-1] in ("key", "keys") and before in _KEYS


def secrets_in(values: Mapping[str, Any]) -> Iterator[str]:
    """The texts that stand under the names of secrets, at any depth."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from secrets_in(cast("Mapping[str, Any]", value))
        elif isinstance(value, str) and is_secret_name(str(key)):
            yield value


class Secrets:
    """Values that must not be seen: what a person typed when asked for a secret, what a config marked as one."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._lock = Lock()
        self._values: set[str] = set()
        self.pattern: re.Pattern[str] | None = None
        for value in values:
            self.register(value)

    def register(self, value: str) -> None:
        """From now on `value` is masked. Under four characters only where it is the whole of a string."""
        if not value.strip():
            return
        with self._lock:
            if value not in self._values:
                self._values.add(value)
                self.pattern = _pattern(self._values)

    def stand_in(self, data: bytes) -> bool:
        """Whether any of them, of four characters or more, stands in these bytes."""
        return any(value.encode("utf-8", "surrogatepass") in data for value in self._values if len(value) >= 4)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Secrets: {len(self._values)}>"


class Masker:
    """Masked copies of arguments and results. What holds no secret comes back as the same object, in about 1 us."""

    def __init__(self, secrets: Secrets | None = None) -> None:
        self.secrets = Secrets() if secrets is None else secrets
        self._marked: dict[int, tuple[Mapping[str, Any], frozenset[str]]] = {}

    def arguments(self, args: Mapping[str, Any], schema: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Arguments for a trace, log or store. `result is args` says that nothing was masked."""
        marked = self._marked_in(schema)
        pattern = self.secrets.pattern
        for name, value in args.items():
            if name in marked or is_secret_name(name):
                if value is not None and value is not True and value is not False:
                    break
            elif type(value) is str:
                if pattern is not None and pattern.search(value):
                    break
            elif type(value) is int:
                if pattern is not None and _number_matches(pattern, value):
                    break
            elif type(value) not in _SCALARS:
                break
        else:
            return args
        masked: Mapping[str, Any] = _Walk(marked, pattern).value(args)
        return masked

    def value(self, value: Any) -> Any:
        """A result: only registered values are masked in it, wherever in its strings they stand."""
        pattern = self.secrets.pattern
        return value if pattern is None else _Walk(None, pattern).value(value)

    def step(
        self, args: Mapping[str, Any], result: Any, schema: Mapping[str, Any] | None = None
    ) -> tuple[Mapping[str, Any], Any, bool]:
        """(arguments, result, held): a result that repeats a masked argument is masked too.

        held: either holds a secret, so the step cannot be replayed from what is stored.
        """
        shown = self.arguments(args, schema)
        pattern = self.secrets.pattern
        if shown is not args and (own := _secret_strings(args, shown)):
            pattern = _pattern({*own, *self.secrets._values})  # pyright: ignore[reportPrivateUsage]  # same module
        seen = result if pattern is None else _Walk(None, pattern).value(result)
        return shown, seen, shown is not args or seen is not result

    def secret_names(self, names: Iterable[str], schema: Mapping[str, Any] | None) -> frozenset[str]:
        """Those of these parameters that hold secrets, by their names or by the schema."""
        marked = self._marked_in(schema)
        return frozenset(name for name in names if name in marked or is_secret_name(name))

    def _marked_in(self, schema: Mapping[str, Any] | None) -> frozenset[str]:
        if schema is None:
            return frozenset()
        known = self._marked.get(id(schema))
        if known is not None:
            return known[1]
        if len(self._marked) > 10_000:
            self._marked.clear()
        names = frozenset(_marked_names(schema))
        self._marked[id(schema)] = (schema, names)  # keeps the schema alive, so its id stays its own
        return names


def mask_arguments(
    args: Mapping[str, Any], schema: Mapping[str, Any] | None = None, secrets: Secrets | None = None
) -> Mapping[str, Any]:
    """One masking without a Masker kept."""
    return Masker(secrets).arguments(args, schema)


class _Walk:
    """One pass over plain data. names None: only values are looked at, no key makes its value a secret."""

    def __init__(self, names: frozenset[str] | None, pattern: re.Pattern[str] | None) -> None:
        self.names = names
        self.pattern = pattern
        self.done: dict[int, Any] = {}
        self.depth = 0

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if self.pattern is None else _replace(self.pattern, value)
        if isinstance(value, (Mapping, list, tuple, set, frozenset)):
            key = id(cast(object, value))
            if key not in self.done:
                if self.depth >= _DEEPEST:
                    return MASK  # deeper than anything JSON-like; unseen is safer than unchecked
                self.done[key] = MASK  # stands for the value inside itself
                self.depth += 1
                self.done[key] = self._container(cast(Any, value))
                self.depth -= 1
            return self.done[key]
        if isinstance(value, (bytes, bytearray)) and self.pattern is not None:
            text = bytes(value).decode("latin-1")
            masked = _replace(self.pattern, text)
            return value if masked is text else masked.encode("latin-1")
        if self.pattern is None or value is None or isinstance(value, (bool, float)):
            return value
        if isinstance(value, int):
            return MASK if _number_matches(self.pattern, value) else value
        return MASK if self.pattern.search(_repr(value)) else value

    def _container(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            items = cast(Mapping[Any, Any], value).items()
            masked = {self.value(key) if isinstance(key, str) else key: self._held(key, item) for key, item in items}
            same = all(a is b and x is y for (a, x), (b, y) in zip(masked.items(), items, strict=False))
            return cast(Any, value) if same and len(masked) == len(items) else masked
        before = list(value)
        after = [self.value(item) for item in before]
        if all(a is b for a, b in zip(after, before, strict=True)):
            return value
        return tuple(after) if isinstance(value, tuple) else after

    def _held(self, key: Any, item: Any) -> Any:
        if self.names is not None and isinstance(key, str) and (key in self.names or is_secret_name(key)):
            return item if item is None or isinstance(item, bool) else MASK
        return self.value(item)


def _replace(pattern: re.Pattern[str], text: str) -> str:
    """The same object when nothing matches."""
    return pattern.sub(MASK, text) if pattern.search(text) else text


def _number_matches(pattern: re.Pattern[str], number: int) -> bool:
    """A secret of digits, such as a PIN, that was turned into a number."""
    return number.bit_length() < 256 and pattern.fullmatch(str(number)) is not None


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def _pattern(values: Iterable[str]) -> re.Pattern[str] | None:
    # The longest first: a secret that begins with another one is masked whole.
    ordered = sorted(values, key=len, reverse=True)
    parts = [re.escape(value) if len(value) >= 4 else rf"\A{re.escape(value)}\Z" for value in ordered]
    return re.compile("|".join(parts)) if parts else None


def _secret_strings(args: Mapping[str, Any], shown: Mapping[str, Any]) -> set[str]:
    """The strings of the top-level arguments that were masked whole."""
    found: set[str] = set()
    for name, value in args.items():
        if shown.get(name) == MASK:
            found.update(text for text in _strings(value, 0) if len(text) >= 4)
    return found


def _strings(value: Any, depth: int) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (int, float)):
        yield str(value)
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for item in cast(Mapping[Any, Any], value).values():
            yield from _strings(item, depth + 1)
    elif depth < _DEEPEST and isinstance(value, (list, tuple)):
        for item in cast(Iterable[Any], value):
            yield from _strings(item, depth + 1)


def _marked_names(schema: Mapping[str, Any]) -> Iterable[str]:
    """Names of properties, at any depth, that the schema says are secret: format password, writeOnly or x-secret."""
    waiting: list[Any] = [schema]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Mapping):
            table = cast(Mapping[str, Any], node)
            properties = table.get("properties")
            if isinstance(properties, Mapping):
                for name, inner in cast(Mapping[str, Any], properties).items():
                    if isinstance(inner, Mapping) and _marks(cast(Mapping[str, Any], inner)):
                        yield name
            waiting.extend(table.values())
        elif isinstance(node, list):
            waiting.extend(cast(list[Any], node))


def _marks(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") == "password" or schema.get("writeOnly") is True or schema.get("x-secret") is True
