"""Fetching text over http and https, bounded in size and time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address
    from urllib.request import OpenerDirector

MAX_BYTES = 5_000_000
MAX_SECONDS = 60.0
REDIRECTS = (301, 302, 303, 307, 308)
TEXT_TYPES = ("text/", "application/json", "application/xml", "application/javascript", "application/yaml")


def http_get(
    url: str, headers: dict[str, str] | None = None, max_bytes: int = 200_000, seconds: float = 20
) -> dict[str, Any]:
    """GET a page or API answer as text: status, final url, content_type, text, truncated. A 404 is an answer too."""
    import http.client
    import urllib.error
    from urllib.request import Request

    check_url(url)
    if not 0 < max_bytes <= MAX_BYTES:
        raise ValueError(f"max_bytes is from 1 to {MAX_BYTES:,}, not {max_bytes}")
    if not 0 < seconds <= MAX_SECONDS:
        raise ValueError(f"seconds is more than 0 and at most {MAX_SECONDS:g}, not {seconds}")
    deadline = time.monotonic() + seconds
    request = Request(url, headers={"User-Agent": "sutler", "Accept": "*/*", **(headers or {})})
    try:
        try:
            response = guarded_opener(deadline).open(request, timeout=seconds)
        except urllib.error.HTTPError as error:
            if error.code in REDIRECTS:
                error.close()
                raise ConnectionError(f"{url} redirects to where it is not followed: {error.msg}") from None
            response = error  # a response like another, with a body
        with response:
            body, truncated = read_bounded(response, max_bytes, deadline)
            content_type = response.headers.get("Content-Type", "")
            charset = response.headers.get_content_charset() or "utf-8"
            final, status = response.url, response.status
    except TimeoutError:
        raise TimeoutError(f"{url} did not answer in full within {seconds:g} s") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, PermissionError):
            raise error.reason from None
        raise ConnectionError(f"{url} cannot be reached: {error.reason}") from None
    except (http.client.HTTPException, UnicodeError) as error:
        raise ConnectionError(f"{url} gave no valid HTTP answer: {error or type(error).__name__}") from None
    plain = content_type.split(";")[0].strip().lower()
    if plain and not plain.startswith(TEXT_TYPES) and not plain.endswith(("+json", "+xml")):
        raise ValueError(f"{url} is {plain}, not text ({len(body):,} bytes read)")
    return {
        "status": status,
        "url": final,
        "content_type": content_type,
        "text": decode(body, charset),
        "truncated": truncated,
    }


def check_url(url: str) -> None:
    """ValueError unless it is http(s) with a host and without a password in it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"only http and https addresses are fetched, not {parts.scheme or 'a bare path'}: {url}")
    if not parts.hostname:
        raise ValueError(f"the address names no host: {url}")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the address holds a user name or password; send a header instead")


def guarded_opener(deadline: float) -> OpenerDirector:
    """An opener that looks at every hop: its address before it is followed, and the machine that really answered.

    The check is made on the connected peer, so a name that resolves differently the second time gains nothing.
    Behind a proxy the peer is the proxy, which then is the one to decide what can be reached.
    """
    import http.client
    from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

    first: list[str] = []

    def refuse_peer(connection: http.client.HTTPConnection) -> None:
        peer = str(connection.sock.getpeername()[0])
        first.append(peer)
        problem = peer_problem(peer, first[0])
        if problem:
            connection.close()
            raise PermissionError(f"{connection.host} is not fetched: {problem}")

    class Plain(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            refuse_peer(self)

    class Secure(http.client.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            refuse_peer(self)

    class PlainHandler(HTTPHandler):
        def http_open(self, req: Request) -> http.client.HTTPResponse:
            return self.do_open(Plain, req)

    class SecureHandler(HTTPSHandler):
        def https_open(self, req: Request) -> http.client.HTTPResponse:
            return self.do_open(Secure, req)

    class Redirects(HTTPRedirectHandler):
        def redirect_request(
            self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
        ) -> Request | None:
            check_url(newurl)
            req.timeout = max(0.001, deadline - time.monotonic())
            following = super().redirect_request(req, fp, code, msg, headers, newurl)
            if following is not None and urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
                for name in ("Authorization", "Cookie", "Proxy-authorization"):
                    following.remove_header(name)
            return following

    return build_opener(PlainHandler, SecureHandler, Redirects)


def peer_problem(peer: str, first: str) -> str:
    """Why nothing is asked of this address, "" if it may be; `first` is where the first hop of the same fetch went."""
    address, start = plain_address(peer), plain_address(first)
    if address.is_link_local:
        return f"{address} is link-local, where clouds keep their credentials"
    if start.is_global and not address.is_global:
        return f"a public address led to {address}, which is not public"
    return ""


def plain_address(text: str) -> IPv4Address | IPv6Address:
    import ipaddress

    address = ipaddress.ip_address(text.partition("%")[0])
    return (address.ipv4_mapped or address) if address.version == 6 else address


def read_bounded(response: Any, most: int, deadline: float) -> tuple[bytes, bool]:
    """At most `most` bytes, and whether there were more. TimeoutError for a server that drips past the deadline."""
    chunks: list[bytes] = []
    size = 0
    while size <= most:
        if time.monotonic() > deadline:
            raise TimeoutError
        chunk = response.read1(min(65_536, most + 1 - size))
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)[:most], size > most


def decode(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset, "replace")
    except LookupError:
        return body.decode("utf-8", "replace")
