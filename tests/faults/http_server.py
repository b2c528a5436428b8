"""A loopback HTTP server that misbehaves on demand, in this process. `mode` may be changed while it runs.

Transports: streamable HTTP of both eras at /mcp, SSE of 2024 at /sse. Modes that concern one request take effect for
tools/call only, so that a server can be had and then go wrong; those in AT_ONCE from the first request on.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

AT_ONCE = {"401_at_once", "html_at_once", "redirect_at_once", "silent_at_once", "500_at_once", "403_at_once"}
ECHO = {
    "name": "echo",
    "inputSchema": {"type": "object", "properties": {"x": {"type": "string", "x-mcp-header": "X-Value"}}},
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}
WRITE = {"name": "write", "inputSchema": {"type": "object"}}
BAD_HEADER = {
    "name": "bad_header",
    "inputSchema": {"type": "object", "properties": {"x": {"type": "object", "x-mcp-header": "not a token!"}}},
}


class FaultyHttp:
    """`with FaultyHttp() as server`: server.url; server.ran counts tool calls that took effect."""

    def __init__(self, *, modern: bool = False, port: int = 0) -> None:
        self.modern = modern
        self.mode = "ok"
        self.once = ""  # the mode of the next tools/call only
        self.sessions: set[str] = set()
        self.ran = 0
        self.requests: list[tuple[str, dict[str, str]]] = []  # (JSON-RPC method or HTTP verb, headers)
        self.tools = [ECHO, WRITE]
        self.closing = threading.Event()
        self.streams: dict[str, queue.Queue[dict[str, Any]]] = {}
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.owner = self
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def methods(self) -> list[str]:
        return [method for method, _ in self.requests]

    def __enter__(self) -> FaultyHttp:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.drop_all()
        self._server.server_close()
        self._thread.join(2)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: FaultyHttp

    def __init__(self, *args: Any) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(*args)

    def get_request(self) -> tuple[socket.socket, Any]:
        taken, address = super().get_request()
        self.open.add(taken)
        return taken, address

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def drop_all(self) -> None:
        for one in tuple(self.open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what is being tested."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one packet
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def reply(self, status: int, body: bytes = b"", kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self.server.owner.requests.append(("DELETE", dict(self.headers)))
        self.reply(200)

    def do_GET(self) -> None:
        owner = self.server.owner
        owner.requests.append(("GET", dict(self.headers)))
        if not self.path.startswith("/sse"):
            self.reply(405)
            return
        name = str(len(owner.streams))
        stream = owner.streams[name] = queue.Queue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.event({"event": "endpoint", "data": f"/messages?session_id={name}"})
        while not owner.closing.is_set():
            try:
                self.event({"event": "message", "data": json.dumps(stream.get(timeout=0.05))})
            except queue.Empty:
                continue
            except OSError:
                return

    def event(self, fields: dict[str, str]) -> None:
        self.wfile.write("".join(f"{name}: {value}\n" for name, value in fields.items()).encode() + b"\n")
        self.wfile.flush()

    def do_POST(self) -> None:
        owner = self.server.owner
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, request = message.get("method", ""), message.get("id")
        owner.requests.append((method, dict(self.headers)))
        mode = owner.mode
        if method == "tools/call" and owner.once:
            mode, owner.once = owner.once, ""
        if (mode in AT_ONCE or method == "tools/call") and self.misbehave(mode.removesuffix("_at_once"), request):
            return
        if request is None:
            self.reply(202)
            return
        if not self.known(method, mode):
            return
        answer, more = self.answer(method, message.get("params") or {})
        body = {"jsonrpc": "2.0", "id": request, **answer}
        if self.path.startswith("/messages"):
            owner.streams[self.path.rpartition("=")[2]].put(body)
            self.reply(202)
        elif mode == "sse" and method == "tools/call":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.event({"event": "message", "data": json.dumps(body)})
            self.close_connection = True
        else:
            self.reply(200, json.dumps(body).encode(), **more)

    def known(self, method: str, mode: str) -> bool:
        """Whether the request belongs to a session that there is; answers it when not."""
        owner = self.server.owner
        apart = owner.modern or self.path.startswith("/messages") or method in ("initialize", "server/discover")
        if apart or self.headers.get("Mcp-Session-Id") in owner.sessions:
            return True
        if mode == "400_session":
            self.reply(400, b"Bad Request: no valid session", "text/plain")
        elif mode == "json_404":
            self.reply(404, b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}')
        else:
            self.reply(404, b"gone", "text/plain")
        return False

    def misbehave(self, mode: str, request: Any) -> bool:
        owner = self.server.owner
        match mode:
            case "401":
                self.reply(401, b"who are you, tok-12345?", "text/plain", WWW_Authenticate='Bearer realm="faults"')
            case "403":
                self.reply(403, b"not you", "text/plain")
            case "429":
                self.reply(429, b"slow down", "text/plain", Retry_After="0")
            case "429_long":
                self.reply(429, b"slow down", "text/plain", Retry_After="3600")
            case "500":
                owner.ran += 1
                self.reply(500, b"it broke after the work", "text/plain")
            case "503":
                self.reply(503, b"down for a moment", "text/plain")
            case "400":
                self.reply(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad x"}}')
            case "html":
                self.reply(200, b"<html><title>Sign in</title></html>", "text/html; charset=utf-8")
            case "redirect":
                self.reply(302, b"", Location="https://elsewhere.example/login?state=secret")
            case "silent":
                owner.closing.wait(20)
                self.close_connection = True
            case "cut_json":
                owner.ran += 1
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"jsonrpc":"2.0",')
                self.close_connection = True
            case "cut_sse":
                owner.ran += 1
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(b"event: message\ndata: {")
                self.close_connection = True
            case "drop":
                owner.ran += 1
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            case "accepted":
                self.reply(202)
            case "not_json":
                self.reply(200, b"{oops")
            case _:
                return False
        return True

    def answer(self, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        owner = self.server.owner
        complete = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if method == "server/discover" and owner.modern:
            found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **complete}
            return {"result": found}, {}
        if method == "initialize" and not owner.modern:
            name = f"s{time.monotonic_ns()}"
            owner.sessions.add(name)
            info = {"name": "http faults", "version": "1"}
            found = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
            return {"result": found}, {"Mcp_Session_Id": name}
        if method == "tools/list":
            return {"result": {"tools": owner.tools, **complete}}, {}
        if method == "tools/call":
            owner.ran += 1
            text = json.dumps(params.get("arguments"))
            return {"result": {"content": [{"type": "text", "text": text}], "resultType": "complete"}}, {}
        return {"error": {"code": -32601, "message": "Method not found"}}, {}
