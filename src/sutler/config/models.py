"""`[models.<name>]`: the models of the client that tools are given, every key checked (CFG-01, LCP-12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from .check import WRONG, Check, Checker, boolean, choice, kind_of, name, seconds, string, table
from .filled import put_in
from .locate import KeyPath
from .values import MODEL_KINDS, ModelTable

_ELSEWHERE = {
    "url": "write `base_url`",
    "api_base": "write `base_url`",
    "api_key_env": 'write api_key = "${VARIABLE}"',
    "key": "write `api_key`",
    "type": "write `kind`",
}


def models(cx: Checker, path: KeyPath, value: Any) -> Any:
    if not isinstance(value, dict):
        return cx.wrong(path, f"must be a table, not {kind_of(value)}", "write [models.<name>], once for each model")
    checked = {key: _model(cx, (*path, key), key, item) for key, item in cast(dict[str, Any], value).items()}
    return {key: model for key, model in checked.items() if model is not WRONG}


def _model(cx: Checker, path: KeyPath, key: str, value: Any) -> Any:
    if not isinstance(value, dict):
        hint = "write [models.<name>]" if key in _KEYS else ""
        return cx.wrong(path, f"must be the table of a model, not {kind_of(value)}", hint)
    raw = cast(dict[str, Any], value)
    if name(cx, path, key) is WRONG:
        return WRONG
    before = len(cx.problems)
    for foreign in [one for one in raw if one in _ELSEWHERE]:
        cx.wrong((*path, foreign), "unknown key in [models.<name>]", _ELSEWHERE[foreign])
    own = {one: raw[one] for one in raw if one not in _ELSEWHERE}
    required = () if {"url", "api_base"} & set(raw) else ("base_url",)
    found = table(cx, path, own, _KEYS, required=required, of="[models.<name>]")
    return WRONG if len(cx.problems) > before else ModelTable(name=key, **found, where=cx.where(path))


def _text(cx: Checker, path: KeyPath, value: Any) -> Any:
    return WRONG if string(cx, path, value) is WRONG else put_in(cx, path, value)


def _key(cx: Checker, path: KeyPath, value: Any) -> Any:
    given = _text(cx, path, value)
    if given is WRONG or cx.env is None:
        return given
    if not given.strip().isprintable() or not given.isascii():  # it becomes a header
        return cx.wrong(path, "holds a character that a key cannot hold")
    return given.strip()


def _url(cx: Checker, path: KeyPath, value: Any) -> Any:
    from ..mcp.hidden import of_url
    from .servers import url_problem

    given = _text(cx, path, value)
    if given is WRONG or cx.env is None:
        return given
    cx.secrets |= of_url(given)
    problem = url_problem(given)
    return cx.wrong(path, problem, "where the API begins, such as http://localhost:8080/v1") if problem else given


def _count(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return cx.wrong(path, f"must be a number of tokens, not {kind_of(value)}")
    return value if value > 0 else cx.wrong(path, f"must be more than 0, not {value}")


_KEYS: Mapping[str, Check] = {
    "base_url": _url,
    "kind": choice(*MODEL_KINDS),
    "model": _text,
    "api_key": _key,
    "timeout": seconds,
    "vision": boolean,
    "ctx_size": _count,
}
