"""A loopback MCP server that wants OAuth, with its own authorization server, in this process.

`seconds`: how long an access token holds. `refuses`: the person says no. `revoke()`: no token of before is taken.
`broken`: it gives no tokens now. `at`: the OAuthServer that gives the tokens, where it is another one. `resource`: what
its tokens are for. `lets_in`: methods that want no token. `scopes`: the scope that a tool wants. `client`: id and
secret of the only client that there is.
`no_handshake`: initialize is refused with 400, whoever asks. `sent`: the tokens that came, by path. Any path but those
of the authorization server is an MCP endpoint.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


class OAuthServer:
    """`with OAuthServer() as server`: server.url is the MCP endpoint."""

    def __init__(self) -> None:
        self.seconds = 3600
        self.refuses = False
        self.clients: dict[str, list[str]] = {}
        self.codes: dict[str, str] = {}
        self.access: set[str] = set()
        self.refresh: set[str] = set()
        self.grants: list[str] = []
        self.at = self
        self.broken = False
        self.lets_in: set[str] = set()
        self.no_handshake = False
        self.scopes: dict[str, str] = {}
        self.client: tuple[str, str] | None = None
        self.asked: list[dict[str, str]] = []
        self.granted: dict[str, str] = {}
        self.sent: dict[str, set[str]] = {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.base = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.url = self.resource = f"{self.base}/mcp"

    def __enter__(self) -> OAuthServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def revoke(self) -> None:
        self.access.clear()
        self.refresh.clear()

    def document(self, path: str) -> dict[str, Any] | None:
        if path.startswith("/.well-known/oauth-protected-resource"):
            return {"resource": self.resource, "authorization_servers": [self.at.base]}
        if path.startswith("/.well-known/oauth-authorization-server"):
            return {
                "issuer": self.base,
                "authorization_endpoint": f"{self.base}/authorize",
                "token_endpoint": f"{self.base}/token",
                "registration_endpoint": f"{self.base}/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            }
        return None

    def authorize(self, asked: dict[str, str]) -> str:
        if self.client is None:
            assert asked["redirect_uri"] in self.clients[asked["client_id"]]
        else:
            assert asked["client_id"] == self.client[0]
        self.asked.append(asked)
        given = {"state": asked["state"], "iss": self.base}
        if self.refuses:
            given["error"] = "access_denied"
        else:
            code = secrets.token_hex(8)
            self.codes[code] = asked["code_challenge"]
            self.granted[code] = asked.get("scope", "")
            given["code"] = code
        return f"{asked['redirect_uri']}?{urlencode(given)}"

    def token(self, asked: dict[str, str], basic: str) -> tuple[int, dict[str, Any]]:
        if self.broken:
            return 503, {}
        self.grants.append(asked["grant_type"])
        if self.client is not None and base64.b64decode(basic).decode() != ":".join(self.client):
            return 401, {"error": "invalid_client"}
        scope = self.granted.get(asked.get("code") or asked.get("refresh_token") or "", "")
        if asked["grant_type"] == "authorization_code":
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            good = base64.urlsafe_b64encode(digest).decode().rstrip("=") == self.codes.pop(asked["code"], None)
        else:
            good = asked["refresh_token"] in self.refresh
        if not good:
            return 400, {"error": "invalid_grant"}
        access, refresh = f"access-{secrets.token_hex(8)}", f"refresh-{secrets.token_hex(8)}"
        self.access.add(access)
        self.refresh.add(refresh)
        self.granted[access] = self.granted[refresh] = scope
        return 200, {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.seconds,
            "refresh_token": refresh,
        }

    def refusal(self, message: dict[str, Any], token: str) -> tuple[int, str] | None:
        """The status and the challenge that a message is refused with."""
        where = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource"'
        if message["method"] in self.lets_in:
            return None
        if self.no_handshake and message["method"] == "initialize":
            return 400, ""
        if token not in self.at.access:
            return 401, where
        wanted = self.scopes.get(message.get("params", {}).get("name", ""), "")
        if wanted and wanted not in self.at.granted[token].split():
            return 403, f'{where}, error="insufficient_scope", scope="{wanted}"'
        return None

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if "id" not in message:
            return None
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        match message["method"]:
            case "initialize":
                reply["result"] = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "guarded", "version": "1"},
                }
            case "tools/list":
                reply["result"] = {"tools": [{"name": "secret_of_the_house", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                reply["result"] = {"content": [{"type": "text", "text": "forty-two"}]}
            case other:
                reply["error"] = {"code": -32601, "message": f"no method {other}"}
        return reply


def _handler(server: OAuthServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            where = urlsplit(self.path)
            if where.path == "/authorize":
                asked = {name: values[0] for name, values in parse_qs(where.query).items()}
                self._send(302, {}, Location=server.authorize(asked))
                return
            document = server.document(where.path)
            self._send(200 if document is not None else 404, document or {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            kind, _, token = self.headers.get("Authorization", "").partition(" ")
            if self.path == "/register" and server.client is None:
                asked = json.loads(body)
                client = secrets.token_hex(4)
                server.clients[client] = asked["redirect_uris"]
                self._send(201, {**asked, "client_id": client, "token_endpoint_auth_method": "none"})
            elif self.path == "/register":
                self._send(404, {})
            elif self.path == "/token":
                given = {name: values[0] for name, values in parse_qs(body).items()}
                self._send(*server.token(given, token if kind == "Basic" else ""))
            else:
                if token:
                    server.sent.setdefault(self.path, set()).add(token)
                refused = server.refusal(json.loads(body), token)
                if refused is not None:
                    self._send(refused[0], {}, **{"WWW-Authenticate": refused[1]})
                    return
                reply = server.answer(json.loads(body))
                self._send(202 if reply is None else 200, reply or {})

        def do_DELETE(self) -> None:
            self._send(200, {})

        def _send(self, status: int, document: dict[str, Any], **headers: str) -> None:
            body = json.dumps(document).encode() if document or status == 200 else b""
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
