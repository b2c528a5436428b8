"""From whatever a tool returned to a ToolResult: plain data, how LCP reads it, what a model and a trace see."""

from .answer import Answer
from .normalize import failure, interpret, normalize, program_value
from .plain import json_text, to_plain
from .view import bounded, preview

__all__ = [
    "Answer",
    "bounded",
    "failure",
    "interpret",
    "json_text",
    "normalize",
    "preview",
    "program_value",
    "to_plain",
]
