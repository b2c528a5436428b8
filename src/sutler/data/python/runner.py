"""Run as a program of its own, isolated. argv: the numbers of the file that holds the code and of that to report to.

The value of the last expression is reported as its repr, an error with its line; the traceback is written to stderr.
"""

import ast
import json
import linecache
import os
import sys
import traceback

_SHOWN = 20_000
_NAME = "<code>"


def main() -> None:
    with os.fdopen(int(sys.argv[1]), encoding="utf-8", errors="surrogatepass") as file:
        code = file.read()
    report = int(sys.argv[2])
    sys.argv = ["code.py"]
    sys.path.append(os.getcwd())  # noqa: PTH109 - last: a file there must not stand in for a module of Python's own
    linecache.cache[_NAME] = (len(code), None, code.splitlines(keepends=True), _NAME)
    told: dict[str, object] = {"value": None, "error": None}
    status = 0
    scope: dict[str, object] = {"__name__": "__main__", "__builtins__": __builtins__}
    try:
        tree = ast.parse(code, _NAME)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, _NAME, "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), _NAME, "eval"), scope)
            told["value"] = None if value is None else repr(value)[:_SHOWN]
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException as error:
        status = 1
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _NAME]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
        told["error"] = {"type": type(error).__name__, "message": str(error)[:2_000], "line": line}
        shown = [entry for entry in traceback.format_exception(error) if _is_theirs(entry)]
        sys.stderr.write("".join(shown))
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = status or 1
    os.write(report, json.dumps(told).encode())
    os._exit(status & 0xFF)


def _is_theirs(entry: str) -> bool:
    return '"<string>"' not in entry


if __name__ == "__main__":
    main()
