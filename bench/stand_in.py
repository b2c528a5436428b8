"""An MCP server in plain JSON lines for the benchmarks: `python stand_in.py ok|hang|exit`. It costs next to nothing."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

READ = {"readOnlyHint": True, "openWorldHint": False}
LOCK = threading.Lock()


def tool(name: str, hints: dict[str, bool], **properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"name": name, "description": name, "inputSchema": schema, "annotations": hints}


TOOLS = [tool("echo", READ, x="string", delay="number"), tool("big", READ, n="integer"), tool("die", {})]


def send(request: object, result: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request, "result": result}) + "\n")
        sys.stdout.flush()


def text(request: object, said: str) -> None:
    send(request, {"content": [{"type": "text", "text": said}]})


def call(request: object, name: str, arguments: dict[str, Any]) -> None:
    if name == "die":
        os._exit(9)
    said = "x" * arguments["n"] if name == "big" else str(arguments.get("x"))
    if delay := arguments.get("delay"):
        threading.Timer(delay, text, (request, said)).start()
    else:
        text(request, said)


def main(mode: str) -> None:
    if mode == "exit":
        sys.exit("no such database")
    while mode == "hang":
        time.sleep(1)
    for line in sys.stdin:
        message = json.loads(line)
        request, method, params = message.get("id"), message["method"], message.get("params", {})
        if method == "initialize":
            info = {"name": "stand-in", "version": "1"}
            offers: dict[str, Any] = {"tools": {}}
            version = params["protocolVersion"]
            send(request, {"protocolVersion": version, "capabilities": offers, "serverInfo": info})
        elif method == "tools/list":
            send(request, {"tools": TOOLS})
        elif method == "tools/call":
            call(request, params["name"], params.get("arguments") or {})
        elif request is not None:
            error = {"code": -32601, "message": f"no method {method}"}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request, "error": error}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
