"""A server that misbehaves on demand: raw JSON lines, no SDK. `python stdio_server.py MODE [PATH]`.

MODE says what is wrong with the server as a whole; its tools are what can be wrong with one call. PATH is a file where
a mode keeps what has to outlive the process. Modes are joined with `+`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

MODES = frozenset((sys.argv[1] if len(sys.argv) > 1 else "ok").split("+"))
PATH = sys.argv[2] if len(sys.argv) > 2 else ""
OUT = sys.stdout.buffer
LOCK = threading.Lock()
SEEN: list[dict] = []  # every notification of the client
ASKED: list[dict] = []  # every request of the client
WAITING: dict = {}
EXTRA: list[dict] = []
OPEN: list = []  # ids of subscriptions
RO = {"readOnlyHint": True, "openWorldHint": False}
ANY = {"type": "object"}


def of(**properties: dict) -> dict:
    return {"type": "object", "properties": properties}


N = of(n={"type": "integer"})


def tool(name: str, schema: dict | None = None, hints: dict | None = None, **more: object) -> dict:
    return {"name": name, "description": name, "inputSchema": schema or ANY, "annotations": hints or {}, **more}


TOOLS = [
    tool("echo", {"type": "object", "properties": {"x": {}}}, RO),
    tool("write"),
    tool("never", None, RO),
    tool("nap", of(seconds={"type": "number"})),
    tool("die"),
    tool("die_once", None, RO),
    tool("close_stdout"),
    tool("big", N),
    tool("pieces", N),
    tool("no_end", of(mb={"type": "integer"})),
    tool("env"),
    tool("seen", None, RO),
    tool("asked", None, RO),
    tool("progress"),
    tool("junk"),
    tool("not_json_rpc"),
    tool("half_then_rest"),
    tool("result_is_text"),
    tool("content_is_text"),
    tool("odd_blocks"),
    tool("off_schema", outputSchema={"type": "object", "required": ["sha"], "properties": {"sha": {"type": "string"}}}),
    tool("fails"),
    tool("refuses"),
    tool("twice"),
    tool("text_id"),
    tool("add_tool"),
    tool("storm", N),
    tool("logs", N),
    tool("stderr", N),
    tool("elicits"),
    tool("nan"),
    tool("surrogate"),
    tool("gives", of(result=ANY)),
]


def raw(data: bytes) -> None:
    with LOCK:
        OUT.write(data)
        OUT.flush()


def send(message: dict) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def answer(request: object, text: str, **more: object) -> None:
    result = {"content": [{"type": "text", "text": text}], "resultType": "complete", **more}
    send({"id": request, "result": result})


def notify(method: str, **params: object) -> None:
    if "modern" in MODES and OPEN:
        params["_meta"] = {"io.modelcontextprotocol/subscriptionId": OPEN[-1]}
    send({"method": method, "params": params})


def later(seconds: float, fn: object, *args: object) -> None:
    timer = threading.Timer(seconds, fn, args)
    timer.daemon = True
    timer.start()


def call(request: object, name: str, args: dict, params: dict) -> None:
    match name:
        case "echo" | "write":
            if "delay" in args:
                later(args["delay"], answer, request, json.dumps(args.get("x")))
            else:
                answer(request, json.dumps(args.get("x")))
        case "never":
            pass
        case "nap":
            WAITING[request] = True
            later(args.get("seconds", 5), answer, request, "slept")
        case "die":
            sys.stderr.write("going down\n")
            sys.stderr.flush()
            os._exit(9)
        case "die_once":
            if os.path.exists(PATH):
                answer(request, "alive")
            else:
                open(PATH, "w").close()
                os._exit(9)
        case "close_stdout":
            OUT.flush()
            os.close(1)
            time.sleep(60)
        case "big":
            answer(request, "x" * args["n"])
        case "pieces":
            line = json.dumps(
                {"jsonrpc": "2.0", "id": request, "result": {"content": [], "structuredContent": "y" * args["n"]}}
            )
            for at in range(0, len(line), 1000):
                os.write(1, line[at : at + 1000].encode())
            os.write(1, b"\n")
        case "no_end":
            os.write(1, b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request)
            for _ in range(args["mb"]):
                OUT.write(b"z" * (1 << 20))
            OUT.write(b'"}]}}\n')
            OUT.flush()
        case "env":
            answer(request, json.dumps({**os.environ, "cwd now": os.getcwd()}))
        case "seen":
            answer(request, json.dumps(SEEN))
        case "asked":
            answer(request, json.dumps(ASKED))
        case "progress":
            token = params.get("_meta", {}).get("progressToken")
            for step in range(3):
                notify("notifications/progress", progressToken=token, progress=step, total=3, message=f"step {step}")
            time.sleep(0.05)
            answer(request, "done")
        case "junk":
            raw(b"Server ready\n\n\xff\xfe\x00\n" + json.dumps({"level": "info"}).encode() + b"\n[1, 2]\n")
            answer(request, "after junk")
        case "not_json_rpc":
            raw(b'{"id": %d, "result": {"content": []}}\n' % request)
        case "half_then_rest":
            line = json.dumps(
                {"jsonrpc": "2.0", "id": request, "result": {"content": [{"type": "text", "text": "whole"}]}}
            )
            raw(line[:20].encode())
            time.sleep(0.1)
            raw(line[20:].encode() + b"\n")
        case "result_is_text":
            send({"id": request, "result": "just text"})
        case "content_is_text":
            send({"id": request, "result": {"content": "just text"}})
        case "odd_blocks":
            blocks = [{"type": "video", "data": "AAAA"}, "bare", {"type": "text", "text": "ok"}, 7]
            send({"id": request, "result": {"content": blocks}})
        case "off_schema":
            answer(request, "text", structuredContent={"sha": 7})
        case "fails":
            answer(request, "auth failed", isError=True, structuredContent={"code": 401})
        case "refuses":
            send({"id": request, "error": {"code": -32000, "message": "not today", "data": {"why": "rain"}}})
        case "twice":
            answer(request, "first")
            answer(request, "second")
            send({"id": 999_999, "result": {}})
        case "text_id":
            answer(str(request), "by text")
        case "add_tool":
            EXTRA.append(tool(f"extra{len(EXTRA)}"))
            notify("notifications/tools/list_changed")
            answer(request, "added")
        case "storm":
            for _ in range(args["n"]):
                notify("notifications/tools/list_changed")
            answer(request, "calm")
        case "logs":
            line = json.dumps(
                {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
            )
            raw((line + "\n").encode() * args["n"])
            answer(request, "logged")
        case "stderr":
            sys.stderr.write("e" * args["n"] + "\rhalf\r")
            sys.stderr.flush()
            answer(request, "written")
        case "elicits":
            ask = {
                "message": "Which?",
                "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}},
            }
            if "modern" not in MODES:
                WAITING["ask"] = request
                send({"id": "ask", "method": "elicitation/create", "params": ask})
            elif "inputResponses" in params:
                answer(request, json.dumps(params["inputResponses"]["q"]))
            else:
                asked = {"q": {"method": "elicitation/create", "params": {"mode": "form", **ask}}}
                send(
                    {
                        "id": request,
                        "result": {"resultType": "input_required", "inputRequests": asked, "requestState": "s"},
                    }
                )
        case "nan":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"m":NaN}}}\n' % request)
        case "surrogate":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\\ud800"}]}}\n' % request)
        case "gives":
            send({"id": request, "result": args["result"]})
        case _:
            send({"id": request, "error": {"code": -32602, "message": f"Unknown tool: {name}"}})


def listing(request: object, params: dict) -> None:
    cursor = params.get("cursor")
    page: dict = {"tools": TOOLS + EXTRA, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if "hang_list" in MODES:
        return
    if "die_on_list" in MODES:
        os._exit(4)
    if "no_schema" in MODES:
        page["tools"] = [*TOOLS, {"name": "bare"}, {"description": "nameless"}, "text", None]
    if "list_is_text" in MODES:
        page["tools"] = "none"
    if "listed_twice" in MODES:
        page["tools"] = [*TOOLS, TOOLS[0], tool("write", {"type": "object", "title": "another"})]
    if "pages" in MODES:
        at = int(cursor or 0)
        page["tools"] = [tool(f"t{n}") for n in range(at, min(at + 100, 250))]
        if at + 100 < 250:
            page["nextCursor"] = str(at + 100)
    if "same_cursor" in MODES:
        page["nextCursor"] = "again"
    if "endless" in MODES:
        page["tools"] = [tool(f"t{cursor or 0}")]
        page["nextCursor"] = str(int(cursor or 0) + 1)
    if "number_cursor" in MODES:
        page["nextCursor"] = 7
    if "no_tools" in MODES:
        send({"id": request, "error": {"code": -32601, "message": "Method not found"}})
        return
    if "other_tools" in MODES:
        page["tools"] = [tool("echo", ANY, RO), tool("new")] if os.path.exists(PATH) else TOOLS
        open(PATH, "w").close()
    send({"id": request, "result": page})


def handle(message: dict) -> None:
    method, request, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        if request == "ask":
            answer(WAITING.pop("ask"), json.dumps(message.get("result") or message.get("error")))
        return
    if request is None:
        SEEN.append({"method": method, **params})
        return
    ASKED.append({"method": method})
    if method == "server/discover":
        if "silent" in MODES or "hang" in MODES:
            return
        if "slow_modern" in MODES and not WAITING.setdefault("asked", False):
            WAITING["asked"] = True
            time.sleep(0.5)
        if "modern" in MODES or "slow_modern" in MODES:
            info = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": True}}}
            info |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            info["_meta"] = {"io.modelcontextprotocol/serverInfo": {"name": "faults", "version": "1"}}
            send({"id": request, "result": info})
            return
        send({"id": request, "error": {"code": -32601, "message": "Method not found"}})
    elif method == "initialize":
        if "hang" in MODES:
            return
        if "modern" in MODES or "slow_modern" in MODES:
            send({"id": request, "error": {"code": -32601, "message": "Method not found"}})
            return
        version = "1999-01-01" if "bad_version" in MODES else params["protocolVersion"]
        capabilities = {} if "no_tools" in MODES else {"tools": {"listChanged": True}}
        info = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": {"name": "faults", "version": "1"},
        }
        send({"id": request, "result": "no object" if "bad_init" in MODES else info})
    elif method == "tools/list":
        listing(request, params)
    elif method == "tools/call":
        call(request, params["name"], params.get("arguments") or {}, params)
    elif method == "subscriptions/listen":
        OPEN.append(request)
        notify("notifications/subscriptions/acknowledged", notifications={"toolsListChanged": True})
    elif method == "ping":
        send({"id": request, "result": {}})


def main() -> None:
    if "count" in MODES:
        with open(PATH, "a") as file:
            file.write(f"{os.getpid()}\n")
    if "exit" in MODES:
        sys.stderr.write("no such database\n")
        sys.exit(3)
    if "ignore_end" in MODES:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "orphan" in MODES:
        child = subprocess.Popen(["sleep", "300"], start_new_session=True, stdin=subprocess.DEVNULL)
        with open(PATH, "a") as file:
            file.write(f"{os.getpid()}\n{child.pid}\n")
    if "banner" in MODES:
        raw(b"Server ready\n\nWelcome \xff\xfe!\n" + json.dumps({"level": "info"}).encode() + b"\n")
    if "stderr_flood" in MODES:
        sys.stderr.write("noise " * 70_000)
        sys.stderr.flush()
    if "slow_start" in MODES:
        time.sleep(0.5)
    if "half_line" in MODES:
        raw(b'{"jsonrpc": "2.0", "id')
        sys.exit(0)
    if "deaf" in MODES:
        time.sleep(60)
    for line in sys.stdin.buffer:
        handle(json.loads(line))
        if "leave" in MODES and b"initialized" in line:
            sys.exit(0)
    while "ignore_end" in MODES:
        time.sleep(1)


if __name__ == "__main__":
    main()
