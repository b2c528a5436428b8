"""Values with the variables of the environment put in; what of them is secret is remembered for masking."""

from __future__ import annotations

from typing import Any, cast

from ..policy.masking import is_secret_name
from .check import WRONG, Checker
from .expand import expand, variables
from .locate import KeyPath


def put_in(cx: Checker, path: KeyPath, value: Any) -> Any:
    """The value with `${VAR}` put in, in every string of it."""
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        filled = {key: put_in(cx, (*path, key), item) for key, item in items}
        return {key: item for key, item in filled.items() if item is not WRONG}
    if isinstance(value, list):
        listed = [put_in(cx, (*path, index), item) for index, item in enumerate(cast(list[Any], value))]
        return WRONG if WRONG in listed else listed
    if not isinstance(value, str) or cx.env is None:
        return value
    try:
        text = expand(value, cx.env)
    except ValueError as error:
        return cx.wrong(path, str(error))
    if is_secret_name(str(path[-1])):
        cx.secrets.add(text)
    cx.secrets.update(cx.env[used] for used in variables(value) if used in cx.env and is_secret_name(used))
    return text
