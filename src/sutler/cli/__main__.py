"""`python -m sutler.cli` is `sutler`."""

from __future__ import annotations

from .main import run

run()
