"""Which parts of a server's config must never be seen: tokens in env, headers, arguments and addresses (MCP-02)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..policy.masking import MASK, is_secret_name

# Headers that say what is sent, not who sends it.
_OPEN_HEADERS = frozenset(
    "accept accept-encoding accept-language cache-control connection content-type host mcp-protocol-version origin "
    "referer user-agent".split()
)
_TOKEN = re.compile(
    r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_\-+=.~]{16,}\Z"
)  # letters and digits in one word
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|apikey)\s+(\S.*)")
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:[=:](.*))?\Z", re.DOTALL)


def of_env(env: Mapping[str, str]) -> set[str]:
    """The values of variables whose name, or whose look, is that of a secret; a password inside an address."""
    found: set[str] = set()
    for name, value in env.items():
        if is_secret_name(name) or _TOKEN.match(value):
            found.add(value)
        found |= of_url(value)
    return _worth(found)


def of_headers(headers: Mapping[str, str]) -> set[str]:
    """Every value that is no plain description of the content; of `Bearer x` also the x alone."""
    found: set[str] = set()
    for name, value in headers.items():
        if name.lower() in _OPEN_HEADERS:
            continue
        found.add(value)
        if scheme := _SCHEME.match(value):
            found.add(scheme.group(1))
    return _worth(found)


def of_args(args: Sequence[str]) -> set[str]:
    """What follows a secret's name (`--api-key x`, `--api-key=x`, `-e TOKEN=x`), tokens, passwords in addresses."""
    found: set[str] = set()
    before = ""
    for arg in args:
        flag = _FLAG.match(arg)
        if flag is None and is_secret_name(before):
            found.add(arg)
        name, mark, value = arg.partition("=")
        if mark and is_secret_name(name.lstrip("-")):
            found.add(value)
        elif _TOKEN.match(value if mark else arg) and not re.fullmatch(r"[@\w./-]*[./@][@\w./-]*", arg):
            found.add(value if mark else arg)
        if scheme := _SCHEME.search(arg):
            found.add(scheme.group(1))
        found |= of_url(value if mark else arg)
        before = flag.group(1) if flag is not None and flag.group(2) is None else ""
    return _worth(found)


def of_url(url: str) -> set[str]:
    """The password in an address, and what its query holds under a secret's name."""
    if "://" not in url:
        return set()
    from urllib.parse import parse_qsl, unquote, urlsplit

    try:
        parts = urlsplit(url)
        password, query = parts.password, parse_qsl(parts.query)
    except ValueError:
        return set()
    found = {value for name, value in query if is_secret_name(name) or _TOKEN.match(value)}
    if password:
        found |= {password, unquote(password)}
    return _worth(found)


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text with every one of these values in it replaced, the longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _worth(values: set[str]) -> set[str]:
    """A value of under four characters would be found everywhere."""
    return {value for value in values if len(value.strip()) >= 4}
