"""Facts about Python source, read without running it."""

import ast

from layers import layer_of

from sutler import tool

TOOL_LIBRARY_NAME = "Code facts"
TOOL_LIBRARY_DESC = "What a Python module holds: lines, functions, classes, imports."
TOOL_LIBRARY_ICON = "🔎"


@tool(read_only=True, open_world=False)
def module_facts(path: str, text: str) -> dict:
    """
    Tells what a Python module holds.

    Args:
        path (str): Where the module is; only used to name it.
        text (str): The source of the module.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return {"success": False, "error": f"{path}, line {error.lineno}: {error.msg}"}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    longest = max(functions, key=_length, default=None)
    return {
        "success": True,
        "output": {
            "module": path,
            "layer": layer_of(path),
            "lines": len(text.splitlines()),
            "functions": len(functions),
            "classes": sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
            "documented": ast.get_docstring(tree) is not None,
            "longest_function": longest.name if longest else "",
            "longest_lines": _length(longest) if longest else 0,
        },
    }


def _length(node) -> int:
    return node.end_lineno - node.lineno + 1
