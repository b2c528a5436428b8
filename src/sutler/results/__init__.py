"""From whatever a tool returned to a ToolResult: plain data, how LCP reads it, what a model and a trace see."""

from .answer import Answer
from .normalize import Read, failure, interpret, normalize, program_value, read_value
from .plain import fresh, json_text, to_plain
from .view import bounded, preview

__all__ = [
    "Answer",
    "Read",
    "bounded",
    "failure",
    "fresh",
    "interpret",
    "json_text",
    "normalize",
    "preview",
    "program_value",
    "read_value",
    "to_plain",
]
