"""An MCP server of our own for bridges, on plain JSON lines: read_file and write_file in a folder, and tool_own."""

import json
import os
import pathlib
import sys

ROOT = pathlib.Path(sys.argv[1])
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [
    {
        "name": "read_file",
        "description": "Reads a file.",
        "inputSchema": PATH,
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {"name": "write_file", "description": "Writes a file.", "inputSchema": PATH},
    {
        "name": "tool_own",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {"name": "environment", "inputSchema": PATH, "annotations": {"readOnlyHint": True, "openWorldHint": False}},
]


def call(name: str, arguments: dict) -> tuple[str, bool]:
    match name:
        case "read_file":
            path = ROOT / arguments["path"]
            return (path.read_text(), False) if path.is_file() else (f"no file {arguments['path']}", True)
        case "write_file":
            (ROOT / arguments["path"]).write_text("written")
            return "written", False
        case "environment":
            return f"{os.environ.get(arguments['path'])} in {os.getcwd()}", False
        case _:
            return f"{name} ran", False


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    match message["method"]:
        case "initialize":
            reply["result"] = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "files", "version": "1"},
            }
        case "tools/list":
            reply["result"] = {"tools": TOOLS}
        case "tools/call":
            text, failed = call(message["params"]["name"], message["params"].get("arguments") or {})
            reply["result"] = {"content": [{"type": "text", "text": text}], "isError": failed}
        case method:
            reply["error"] = {"code": -32601, "message": f"no method {method}"}
    print(json.dumps(reply), flush=True)
