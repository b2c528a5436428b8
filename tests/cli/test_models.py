"""The command line gives its tools the models of the config."""

from __future__ import annotations

import pytest

from ..host.stand_in import KEY, stand_in
from .conftest import Project, Sutler


@pytest.mark.requirement("LCP-12")
def test_a_tool_that_is_called_from_the_command_line_has_the_models_of_the_config(
    project: Project, sutler: Sutler
) -> None:
    project.library(
        "caption.py",
        "def tool_caption(subject: str, lollms_client_instance=None):\n"
        "    client = lollms_client_instance\n"
        "    return client.generate_text(subject) if client is not None else 'no client'\n",
    )
    assert sutler("call", "tool_caption", "subject=a fish").out == "no client\n"
    with stand_in() as server:
        server.key = KEY
        project.config(
            '[libraries]\nfolders = ["tools"]\n'
            f'[models.writer]\nbase_url = "{server.url}"\nmodel = "echo"\napi_key = "{KEY}"\n'
        )
        assert sutler("call", "tool_caption", "subject=a fish").out == "echo: a fish\n"
        server.key = "another"
        refused = sutler("call", "tool_caption", "subject=a fish")
    assert refused.code == 1
    assert "refused POST /v1/chat/completions (401; the key is wrong)" in refused.err
    assert f"{project.file}:3" in refused.err
    assert KEY not in refused.out + refused.err
