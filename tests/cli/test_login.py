"""`sutler login`: a real OAuth flow against a server of our own, tokens that are kept, refreshed and revoked."""

from __future__ import annotations

import stat
import sys
import threading
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.faults.oauth_server import OAuthServer

from .conftest import Project, Sutler

pytestmark = pytest.mark.requirement("MCP-01")


def _visit(url: str) -> None:
    with suppress(OSError), urllib.request.urlopen(url, timeout=10) as page:
        page.read()


@pytest.fixture
def guarded(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[OAuthServer]:
    """A server that wants a login, a project that names it, and a person whose browser says yes."""

    def browser(url: str) -> bool:
        threading.Thread(target=_visit, args=(url,), daemon=True).start()
        return True

    monkeypatch.setattr(webbrowser, "open", browser)
    with OAuthServer() as server:
        project.config(f'[mcp_servers.guarded]\nurl = "{server.url}"\n[policy]\nlevel = "full_access"\n')
        yield server


def test_a_login_is_kept_and_used_by_every_later_command(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    before = sutler("doctor")
    assert "run `sutler login guarded`" in " ".join(before.out.split())
    done = sutler("login", "guarded")
    assert done.code == 0, done.err
    assert "logged in at guarded" in done.out
    file = project.home / "state" / "logins.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    called = sutler("call", "guarded::secret_of_the_house")
    assert called.code == 0, called.err
    assert "forty-two" in called.out
    token = next(iter(guarded.access))
    everything = before.out + before.err + done.out + done.err + called.out + called.err + sutler("doctor").out
    assert token not in everything


def test_an_access_token_that_has_ended_is_refreshed_without_a_person(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    guarded.seconds = 1  # over at once, by the margin that is kept
    assert sutler("login", "guarded").code == 0
    guarded.access.clear()
    called = sutler("call", "guarded::secret_of_the_house")
    assert called.code == 0, called.err
    assert guarded.grants[0] == "authorization_code" and set(guarded.grants[1:]) == {"refresh_token"}
    assert len(guarded.clients) == 1


def test_a_login_that_is_no_longer_accepted_says_so_and_asks_nobody(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    assert sutler("login", "guarded").code == 0
    guarded.revoke()
    found = {one["about"]: one for one in reversed(sutler("doctor", "--json").json["findings"])}
    assert found["server guarded"]["state"] == "problem"
    assert "sutler login guarded" in found["server guarded"]["said"]


def test_a_refused_login_keeps_nothing(project: Project, guarded: OAuthServer, sutler: Sutler) -> None:
    guarded.refuses = True
    done = sutler("login", "guarded")
    assert done.code != 0
    assert "access_denied" in done.err
    assert not (project.home / "state" / "logins.json").exists()


def test_a_refused_login_in_a_browser_that_stays_is_one_sentence_and_no_traceback(
    project: Project, guarded: OAuthServer
) -> None:
    guarded.refuses = True
    browser = project.home / "browser"  # one that its caller waits for, as for a text browser
    browser.write_text(
        f"#!{sys.executable}\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1], timeout=20).read()\n"
    )
    browser.chmod(0o700)
    done = project.process("login", "guarded", BROWSER=str(browser))
    assert done.code == 4
    assert "error: guarded: The login was refused: access_denied" in done.err
    assert "Traceback" not in done.err


def test_a_refused_login_leaves_the_one_before_as_it_was(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    assert sutler("login", "guarded").code == 0
    before = (project.home / "state" / "logins.json").read_text()
    guarded.refuses = True
    assert sutler("login", "guarded").code != 0
    assert (project.home / "state" / "logins.json").read_text() == before
    assert "forty-two" in sutler("call", "guarded::secret_of_the_house").out


def test_a_login_is_forgotten(project: Project, guarded: OAuthServer, sutler: Sutler) -> None:
    assert sutler("login", "guarded").code == 0
    assert "is forgotten" in sutler("login", "guarded", "--forget").out
    assert "access-" not in (project.home / "state" / "logins.json").read_text()


def test_only_servers_that_can_want_one_are_logged_in_at(project: Project, sutler: Sutler) -> None:
    project.config('[mcp_servers.local]\ncommand = "x"\n')
    assert "over stdio" in sutler("login", "local").err
    assert "did you mean local" in sutler("login", "locl").err
