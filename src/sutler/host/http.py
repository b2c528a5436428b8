"""One request to a model server: bounded in time and size, and its failures as one kind of error that says what to do.

On httpx2, which the `mcp` extra brings. The official client of the API was left aside: importing it takes 0.6 s of CPU,
and it sends what it finds in the environment (keys, organization, further headers) to whatever server it is pointed at.
"""

from __future__ import annotations

import json
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from ..calling import seconds_left
from ..errors import ModelError
from .answers import table_of

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 200_000_000
_BUSY = frozenset({429, 503})
_TRIES = 3
_PATIENCE = 20.0  # seconds that a busy server may ask for
_MOST_OF_A_LINE = 10_000_000
_SHOWN = 300
_SHARE = 0.9  # of what a tool's call has left: the tool that asks can still say what happened


class Until(NamedTuple):
    """A moment of the monotonic clock, and the seconds that there were until then."""

    deadline: float
    seconds: float


class Http:
    """The connections to one server. `who`: how errors call it, a model of it named."""

    def __init__(self, base_url: str, *, key: str, timeout: float, who: Callable[[], str]) -> None:
        self.base_url = base_url.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._who = who
        self._client: httpx2.Client | None = None
        self._lock = threading.Lock()

    def request(
        self, method: str, path: str, *, pieces: Callable[[str], object] | None = None, **body: Any
    ) -> tuple[bytes, str]:
        """(body, content type) of an answer. ModelError for everything else, with server and model in it.

        body: json, or data and files. pieces: told the data of each event of a stream; True or None goes on.
        """
        allowed = min(self._timeout, seconds_left() * _SHARE)
        until = Until(time.monotonic() + allowed, allowed)
        tries = _TRIES
        while True:
            tries -= 1
            came = self._once(method, path, until, body, pieces, may_wait=tries > 0)
            if isinstance(came, tuple):
                return came
            time.sleep(came)

    def _once(
        self,
        method: str,
        path: str,
        until: Until,
        body: Mapping[str, Any],
        pieces: Callable[[str], object] | None,
        *,
        may_wait: bool,
    ) -> tuple[bytes, str] | float:
        """What came, or the seconds that a busy server asks to wait."""
        client = self._connections()
        import httpx2

        url = path if "://" in path else self.base_url + path
        where = f"{method} {urlsplit(url).path}"
        left = max(0.0, until.deadline - time.monotonic())
        if left == 0.0:
            raise self._error(f"there was no time left for {where}")
        headers = {"authorization": f"Bearer {self._key}"} if self._key and url.startswith(self.base_url + "/") else {}
        try:
            with client.stream(method, url, headers=headers, timeout=left, **body) as response:
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if response.is_success and pieces is not None and kind == "text/event-stream":
                    self._events(response, until, pieces)
                    return b"", kind
                content = self._read(response, until)
                if response.is_success:
                    return content, kind
                asked = _seconds(response.headers.get("retry-after", ""))
                if may_wait and response.status_code in _BUSY and asked < until.deadline - time.monotonic():
                    return asked
                raise self._refused(response, where, content)
        except (httpx2.TimeoutException, _Late) as error:
            raise self._error(f"did not answer {where} within {until.seconds:.3g} s") from error
        except httpx2.ConnectError as error:
            raise self._error(f"cannot be reached: {_first_line(error)}; is it running there?") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise self._error(f"broke off {where}: {_first_line(error)}") from error

    def _read(self, response: httpx2.Response, until: Until) -> bytes:
        return b"".join(self._chunks(response, until))

    def _chunks(self, response: httpx2.Response, until: Until) -> Iterator[bytes]:
        """What comes in, for as long and as much as it may be."""
        size = 0
        for chunk in response.iter_bytes():
            if time.monotonic() > until.deadline:
                raise _Late
            size += len(chunk)
            if size > MOST_BYTES:
                raise self._error(f"answered with more than {MOST_BYTES:,} bytes")
            yield chunk

    def _events(self, response: httpx2.Response, until: Until, pieces: Callable[[str], object]) -> None:
        """Each `data:` line, until the server or the listener ends it. The API has no event of more than one line."""
        rest = b""
        for chunk in self._chunks(response, until):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _MOST_OF_A_LINE:
                raise self._error(f"sent an event of more than {_MOST_OF_A_LINE:,} bytes")
            for line in lines:
                if not line.startswith(b"data:"):
                    continue
                data = line[5:].decode("utf-8", "replace").strip()
                if data == "[DONE]" or pieces(data) is False:
                    return

    def _connections(self) -> httpx2.Client:
        with self._lock:
            if self._client is None:
                try:
                    import httpx2
                except ImportError:
                    raise ModelError(
                        f"{self._who()} is reached by httpx2, which is not installed: pip install 'sutler[models]'"
                    ) from None
                self._client = httpx2.Client()
                weakref.finalize(self, self._client.close)  # one that nobody closes leaves no connection behind
            return self._client

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _refused(self, response: httpx2.Response, where: str, content: bytes) -> ModelError:
        said, status = _said(content), response.status_code
        match status:
            case 301 | 302 | 303 | 307 | 308:
                moved = shown_url(str(response.headers.get("location", "")))
                text = f"sends {where} elsewhere ({status}), to {moved}: write the base_url that is meant"
            case 401 | 403:
                hint = "the key is wrong" if self._key else "it wants a key: give api_key"
                text = f"refused {where} ({status}; {hint})"
            case 404 if "model" in said.lower():
                text = f"does not know the model ({status} for {where})"
            case 404 | 405 | 501:
                text = f"has no {where} ({status}): it does not offer this, or base_url is not where its API begins"
            case 429:
                text = f"has had too many requests ({status} for {where})"
            case _:
                text = f"answered {status} to {where}"
        return self._error(text + (f": {said}" if said else ""))

    def _error(self, text: str) -> ModelError:
        text = f"{self._who()} {text}"
        return ModelError(text.replace(self._key, "***") if self._key else text)

    def wrong(self, what: str) -> ModelError:
        """The error for an answer that is not what the API says."""
        return self._error(what)


class _Late(Exception):
    """The time of a request has passed while its answer came in."""


def as_json(http: Http, content: bytes, what: str) -> Any:
    """An answer's JSON. ModelError shows the begin of what came instead, or the error that it holds."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        shown = _said(content) or "nothing"
        raise http.wrong(f"answered {what} with what is no JSON: {shown}") from None
    if table_of(answer).get("error"):  # with a status that says all is well
        raise http.wrong(f"failed: {_said(content)}")
    return answer


def shown_url(url: str) -> str:
    """A URL as it may be seen: without the name, the password and the query in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def _said(content: bytes) -> str:
    """What an error's body says, in one line."""
    text = content.decode("utf-8", "replace")
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if held := table_of(body):
        inner: Any = held.get("error") or held.get("detail") or held.get("message") or held
        text = str(table_of(inner).get("message") or inner)
    elif re.match(r"\s*<", text):
        text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text[:20_000], flags=re.DOTALL | re.IGNORECASE)
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."


def _seconds(text: str) -> float:
    try:
        asked = float(text)
    except ValueError:
        return 0.5
    return min(max(asked, 0.1), _PATIENCE)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
