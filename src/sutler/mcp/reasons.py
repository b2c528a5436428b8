"""What went wrong with a server, in words: of a connection that failed, of a call that it refused.

Imports the SDK: to be imported when a server is to be reached.
"""

from __future__ import annotations

from typing import Any, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from ..errors import ToolError
from ..servers import RemoteError, ServerSpec
from .exchange import Exchange, HttpFailure


class HttpRefused(Exception):
    """An answer of HTTP where one of the protocol was due."""

    def __init__(self, failure: HttpFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def explain(error: BaseException, exchange: Exchange | None, spec: ServerSpec) -> tuple[str, bool]:
    """Why a connection failed, in words, and whether it is for want of a login."""
    cause = root(error)
    failure = cause.failure if isinstance(cause, HttpRefused) else None
    if failure is None and exchange is not None:
        failure = exchange.unauthorized or exchange.failure
    if failure is not None and failure.status in (401, 403):
        return needs_login(spec, failure), True
    if failure is not None:
        return str(failure), False
    if isinstance(cause, TimeoutError):
        return f"it did not answer within {spec.connect_timeout:g} s", False
    if isinstance(cause, MCPError):
        return f"it refused: {cause.message} ({cause.code})", False
    if isinstance(cause, ValidationError):
        return f"its answer breaks the protocol: {brief(cause)}", False
    return str(cause) or type(cause).__name__, False


def needs_login(spec: ServerSpec, failure: HttpFailure) -> str:
    verb = "wants a login" if failure.status == 401 else "refuses these credentials"
    return f"it {verb} ({failure}); run `sutler login {spec.id}`, or set its headers in the config"


def root(error: BaseException) -> BaseException:
    """The first failure inside anyio's groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def brief(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'][-3:])) or 'it'}: {first['msg']}"


def refused(error: types.ErrorData) -> ToolError:
    """An error of the protocol that a call was answered with."""
    data: Any = error.data
    message = error.message.partition(":")[0] if error.code == types.PARSE_ERROR else error.message  # pydantic's report
    said = f"{message} (MCP error {error.code})"
    if "no back-channel" in message:
        said += '; it asks in the way of the old era: set era = "legacy" for it'
    if error.code == types.URL_ELICITATION_REQUIRED and isinstance(data, dict):
        asked: Any = cast("dict[str, Any]", data).get("elicitations") or []
        urls = [str(one.get("url")) for one in cast("list[dict[str, Any]]", asked)]
        said += f"; open {', '.join(urls)} first"
    wire = RemoteError(code=error.code, message=error.message, data=data)
    return ToolError(said, output=data, wire=wire)
