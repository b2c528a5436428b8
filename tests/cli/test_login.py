"""`sutler login`: a real OAuth flow against a server of our own, tokens that are kept, refreshed and revoked."""

from __future__ import annotations

import stat
import sys
import threading
import urllib.request
import webbrowser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from sutler import SyncRuntime
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


def test_the_issuer_refreshes_its_tokens_and_the_server_never_sees_what_they_are_refreshed_with(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    with OAuthServer() as issuer:
        guarded.at = issuer
        issuer.seconds = 1
        assert sutler("login", "guarded").code == 0
        issuer.access.clear()
        assert "forty-two" in sutler("call", "guarded::secret_of_the_house").out
        assert issuer.grants[0] == "authorization_code" and "refresh_token" in issuer.grants[1:]
        assert not guarded.grants
        assert not {token for tokens in guarded.sent.values() for token in tokens} & issuer.refresh


def test_an_access_token_that_is_taken_back_before_its_end_is_refreshed_once_for_all_calls(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    assert sutler("login", "guarded").code == 0
    with SyncRuntime(config=project.root / "sutler.toml", default_tools=False, plugins=False) as rt:
        assert rt.ready(20)
        guarded.access.clear()
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _: rt.call("guarded::secret_of_the_house"), range(8)))
    assert [result.output for result in results] == ["forty-two"] * 8, results[0].error
    assert guarded.grants == ["authorization_code", "refresh_token"]


def test_two_servers_share_a_login_where_one_resource_covers_both(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    guarded.resource = f"{guarded.base}/"
    project.config(
        f'[mcp_servers.one]\nurl = "{guarded.base}/one"\n[mcp_servers.two]\nurl = "{guarded.base}/two"\n'
        '[policy]\nlevel = "full_access"\n'
    )
    assert sutler("login", "one").code == 0
    assert len(guarded.asked) == 1 and "resource" in guarded.asked[0]
    shared = sutler("login", "two")
    assert "logged in at two" in shared.out, shared.err
    assert len(guarded.asked) == 1  # the person was not asked again
    assert guarded.sent["/two"] == guarded.sent["/one"]
    assert sutler("login", "one", "--forget").code == 0
    assert "forty-two" in sutler("call", "two::secret_of_the_house").out
    assert sutler("call", "one::secret_of_the_house").code != 0


def test_a_token_for_one_resource_goes_to_no_other_server_of_its_issuer(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    with OAuthServer() as other:
        other.at = guarded
        project.config(
            f'[mcp_servers.guarded]\nurl = "{guarded.url}"\n[mcp_servers.other]\nurl = "{other.url}"\n'
            '[policy]\nlevel = "full_access"\n'
        )
        assert sutler("login", "guarded").code == 0
        assert "wants a login" in sutler("call", "other::secret_of_the_house").err
        assert not other.sent
        assert sutler("login", "other").code == 0
        assert [asked["resource"] for asked in guarded.asked] == [guarded.url, other.url]
        assert not other.sent["/mcp"] & guarded.sent.get("/mcp", set())


def test_a_login_that_is_not_enough_for_a_call_is_widened_by_the_next(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    guarded.scopes = {"secret_of_the_house": "house:read"}
    project.config(
        f'[mcp_servers.guarded]\nurl = "{guarded.url}"\noauth = {{ scopes = ["base"] }}\n'
        '[policy]\nlevel = "full_access"\n'
    )
    assert sutler("login", "guarded").code == 0
    assert guarded.asked[-1]["scope"] == "base"
    refused = sutler("call", "guarded::secret_of_the_house")
    assert "insufficient_scope" in refused.err and "run `sutler login guarded`" in refused.err
    assert sutler("login", "guarded").code == 0
    assert set(guarded.asked[-1]["scope"].split()) == {"base", "house:read"}
    assert "forty-two" in sutler("call", "guarded::secret_of_the_house").out


@pytest.mark.parametrize("lets_in", [{"initialize"}, {"initialize", "tools/list"}], ids=["list", "call"])
def test_a_server_that_shows_itself_to_everybody_is_logged_in_at_for_the_rest(
    project: Project, guarded: OAuthServer, sutler: Sutler, lets_in: set[str]
) -> None:
    guarded.lets_in = {*lets_in, "notifications/initialized"}
    refused = sutler("call", "guarded::secret_of_the_house")
    assert refused.code == 4 and "run `sutler login guarded`" in refused.err
    done = sutler("login", "guarded")
    assert "logged in at guarded" in done.out, done.err
    assert "forty-two" in sutler("call", "guarded::secret_of_the_house").out


def test_a_server_without_a_handshake_is_said_to_want_a_login_too(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    guarded.no_handshake = True
    refused = sutler("call", "guarded::secret_of_the_house")
    assert "wants a login" in refused.err and "run `sutler login guarded`" in refused.err


def test_a_login_comes_first_where_only_the_tools_are_behind_it(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    guarded.lets_in = {"initialize", "notifications/initialized"}
    assert "logged in at guarded" in sutler("login", "guarded").out


def test_a_client_that_was_registered_by_hand_is_used_where_none_can_register_itself(
    project: Project, guarded: OAuthServer, sutler: Sutler, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded.client = ("our-client", "tulips-and-daffodils")
    failed = sutler("login", "guarded")
    assert failed.code == 4
    assert "registers no client by itself" in failed.err and "`client_id`" in failed.err
    monkeypatch.setenv("OUR_SECRET", "tulips-and-daffodils")
    project.config(
        f'[mcp_servers.guarded]\nurl = "{guarded.url}"\n'
        'oauth = { client_id = "our-client", client_secret = "${OUR_SECRET}" }\n[policy]\nlevel = "full_access"\n'
    )
    guarded.seconds = 1
    done = sutler("login", "guarded")
    assert done.code == 0, done.err
    called = sutler("call", "guarded::secret_of_the_house")
    assert "forty-two" in called.out, called.err  # refreshed with the same secret
    assert "tulips" not in done.out + done.err + called.err + sutler("doctor", "--json").out


def test_an_issuer_that_fails_for_a_moment_does_not_end_the_login(
    project: Project, guarded: OAuthServer, sutler: Sutler
) -> None:
    with OAuthServer() as issuer:
        guarded.at = issuer
        issuer.seconds = 1
        assert sutler("login", "guarded").code == 0
        issuer.broken = True
        failed = sutler("call", "guarded::secret_of_the_house")
        assert f"{issuer.base}/ says 503" in failed.err or f"{issuer.base} says 503" in failed.err, failed.err
        issuer.broken = False
        assert "forty-two" in sutler("call", "guarded::secret_of_the_house").out


def test_a_callback_port_that_is_taken_is_named(project: Project, guarded: OAuthServer, sutler: Sutler) -> None:
    taken = guarded.base.rpartition(":")[2]
    project.config(f'[mcp_servers.guarded]\nurl = "{guarded.url}"\noauth = {{ callback_port = {taken} }}\n')
    failed = sutler("login", "guarded")
    assert failed.code == 4 and f"the callback port {taken} is not free" in failed.err


def test_only_servers_that_can_want_one_are_logged_in_at(project: Project, sutler: Sutler) -> None:
    project.config('[mcp_servers.local]\ncommand = "x"\n')
    assert "over stdio" in sutler("login", "local").err
    assert "did you mean local" in sutler("login", "locl").err
