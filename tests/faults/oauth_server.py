"""A loopback MCP server that wants OAuth, with its own authorization server, in this process.

`seconds`: how long an access token holds. `refuses`: the person says no. `revoke()`: no token of before is taken.
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
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.base = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.url = f"{self.base}/mcp"

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
            return {"resource": self.url, "authorization_servers": [self.base]}
        if path.startswith("/.well-known/oauth-authorization-server"):
            return {
                "issuer": self.base,
                "authorization_endpoint": f"{self.base}/authorize",
                "token_endpoint": f"{self.base}/token",
                "registration_endpoint": f"{self.base}/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        return None

    def authorize(self, asked: dict[str, str]) -> str:
        assert asked["redirect_uri"] in self.clients[asked["client_id"]]
        given = {"state": asked["state"], "iss": self.base}
        if self.refuses:
            given["error"] = "access_denied"
        else:
            code = secrets.token_hex(8)
            self.codes[code] = asked["code_challenge"]
            given["code"] = code
        return f"{asked['redirect_uri']}?{urlencode(given)}"

    def token(self, asked: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self.grants.append(asked["grant_type"])
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
        return 200, {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.seconds,
            "refresh_token": refresh,
        }

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
            if self.path == "/register":
                asked = json.loads(body)
                client = secrets.token_hex(4)
                server.clients[client] = asked["redirect_uris"]
                self._send(201, {**asked, "client_id": client, "token_endpoint_auth_method": "none"})
            elif self.path == "/token":
                self._send(*server.token({name: values[0] for name, values in parse_qs(body).items()}))
            elif self.headers.get("Authorization", "").removeprefix("Bearer ") not in server.access:
                where = f"{server.base}/.well-known/oauth-protected-resource"
                self._send(401, {}, **{"WWW-Authenticate": f'Bearer resource_metadata="{where}"'})
            else:
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
