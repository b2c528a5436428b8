"""A model server of our own that speaks the OpenAI API: real HTTP on a real port, with answers that tests can foretell.

What a request names as its model says what becomes of it: `echo` answers, the others fail each in its own way.
"""

from __future__ import annotations

import base64
import json
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-a-key-of-the-stand-in"


def png(width: int = 8, height: int = 8) -> bytes:
    """A real, small PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + bytes(width) for _ in range(height)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


WAV = b"RIFF\x24\0\0\0WAVEfmt "


class StandIn(ThreadingHTTPServer):
    """seen: every request, as {method, path, headers, body}. answers: what chats get, in order; busy: 429s to come."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[dict[str, Any]] = []
        self.answers: list[Any] = []
        self.busy = 0
        self.key: str | None = None
        self.release = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is none of our business."""


class Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self._serve(None)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        is_json = (self.headers.get("content-type") or "").startswith("application/json")
        self._serve(json.loads(raw) if is_json else raw)

    def _serve(self, body: Any) -> None:
        server = self.server
        server.seen.append(
            {"method": self.command, "path": self.path, "headers": dict(self.headers.items()), "body": body}
        )
        if server.key is not None and self.headers.get("authorization") != f"Bearer {server.key}":
            given = self.headers.get("authorization", "")
            return self._json(401, {"error": {"message": f"Incorrect API key provided: {given}"}})
        if server.busy:
            server.busy -= 1
            return self._json(429, {"error": {"message": "slow down"}}, {"retry-after": "0"})
        model = body.get("model", "echo") if isinstance(body, dict) else "echo"
        match model:
            case "unknown":
                return self._json(404, {"error": {"message": "model 'unknown' not found"}})
            case "broken":
                return self._json(500, {"error": {"message": "out of memory"}})
            case "html":
                return self._raw(200, b"<html><body><h1>It works!</h1></body></html>", "text/html")
            case "odd":
                return self._json(200, {"answer": "in a form of its own"})
            case "hangs":
                server.release.wait(30)
                return self._json(200, {})
            case "cut":
                self.send_response(200)
                self.send_header("content-length", "1000")
                self.end_headers()
                self.wfile.write(b'{"choices": [')
                self.close_connection = True
                return None
            case "fails-well":
                return self._json(200, {"error": {"message": "the model is not loaded"}})
            case "moved":
                return self._json(308, {}, {"location": "https://me:pw@elsewhere.example/v1/chat/completions"})
            case "trickles" | "pings":
                self.send_response(200)
                kind = "application/json" if model == "trickles" else "text/event-stream"
                self.send_header("content-type", kind)
                self.send_header("content-length", "100000")
                self.end_headers()
                for _ in range(600):
                    if server.release.is_set():
                        break
                    self.wfile.write(b" " if model == "trickles" else b": still here\n\n")
                    self.wfile.flush()
                    time.sleep(0.05)
                return None
        match self.path.removeprefix("/v1"):
            case "/models":
                return self._json(200, {"data": [{"id": "echo", "max_model_len": 2048}, {"id": "other"}]})
            case "/chat/completions":
                return self._chat(body)
            case "/embeddings":
                rows = [
                    {"index": number, "embedding": [float(len(text)), 1]} for number, text in enumerate(body["input"])
                ]
                return self._json(200, {"data": rows[::-1]})
            case "/images/generations":
                if body.get("model") == "only-base64" and "response_format" in body:
                    return self._json(400, {"error": {"message": "Unknown parameter: 'response_format'."}})
                if body.get("model") == "by-address":
                    address = self.server.url.removesuffix("/v1") + "/made/1.png"
                    return self._json(200, {"data": [{"url": address}]})
                return self._json(200, {"data": [{"b64_json": base64.b64encode(png()).decode()}]})
            case "/images/edits":
                return self._json(200, {"data": [{"b64_json": base64.b64encode(png(4, 4)).decode()}]})
            case "/made/1.png":
                return self._raw(200, png(), "image/png")
            case "/audio/speech":
                return self._raw(200, WAV + body["input"].encode(), "audio/wav")
            case "/audio/transcriptions":
                return self._json(200, {"text": f"heard {len(body)} bytes" if b"RIFF" in body else "heard nothing"})
            case _:
                return self._json(404, {"detail": "Not Found"})

    def _chat(self, body: dict[str, Any]) -> None:
        answer = self.server.answers.pop(0) if self.server.answers else f"echo: {_last(body['messages'])}"
        message = answer if isinstance(answer, dict) else {"role": "assistant", "content": answer}
        if not body.get("stream"):
            return self._json(200, {"choices": [{"message": message, "finish_reason": "stop"}]})
        words = [f"{word} " for word in message["content"].split()]
        events = [{"choices": [{"delta": {"content": word}}]} for word in words]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        return self._raw(200, text.encode(), "text/event-stream")

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self._raw(status, json.dumps(value).encode(), "application/json", headers)

    def _raw(self, status: int, content: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _last(messages: list[dict[str, Any]]) -> str:
    content = messages[-1]["content"]
    return content if isinstance(content, str) else json.dumps(content)


@contextmanager
def stand_in() -> Iterator[StandIn]:
    server = StandIn()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
