"""A stand-in MCP server in plain JSON lines: lists the tools that a file holds then and gives the answers of another.

python tiny_server.py TOOLS.json [ANSWERS.json]; a tool without an answer says what it was called with.
"""

import json
import os
import sys


def main() -> None:
    answers = {}
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as file:
            answers = json.load(file)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        method, params = message["method"], message.get("params", {})
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "initialize":
            reply["result"] = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "tiny", "version": "1"},
            }
        elif method == "tools/list":
            with open(sys.argv[1], encoding="utf-8") as file:
                tools = json.load(file)
            start = int(params.get("cursor") or 0)
            reply["result"] = {"tools": tools[start : start + 50]}
            if start + 50 < len(tools):
                reply["result"]["nextCursor"] = str(start + 50)
        elif method == "tools/call":
            said = json.dumps({"tool": params["name"], "arguments": params.get("arguments"), "cwd": os.getcwd()})
            reply["result"] = answers.get(params["name"], {"content": [{"type": "text", "text": said}]})
        else:
            reply["error"] = {"code": -32601, "message": f"no method {method}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


main()
