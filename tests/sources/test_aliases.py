"""`import lollms_client...` inside libraries: opt-in, never over what is installed, undone whole."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from sutler import SyncRuntime
from sutler.lcp import LCPBinding, LollmsClient, MCPBinding, install_aliases, remove_aliases
from sutler.sources.aliases import ALIASES

LIBRARY = """
from ascii_colors import ASCIIColors, trace_exception
from sutler import tool


@tool(isolation="{isolation}")
def tool_names():
    import pipmaster as pm
    import lollms_client
    from lollms_client import LollmsClient
    from lollms_client.tools_bindings.lcp import LCPBinding
    from lollms_client.tools_bindings.mcp import MCPBinding, TOOL_NAME_SEPARATOR
    from lollms_client.lollms_artefact.data_files import _dataframe_to_markdown

    ASCIIColors.warning("careful")
    ASCIIColors.cyan("blue-green")
    ASCIIColors.panel("inside", title="Panel", border_style="yellow")
    try:
        raise ValueError("traced")
    except ValueError as error:
        trace_exception(error)
    return {{
        "names": [one.__name__ for one in (LollmsClient, LCPBinding, MCPBinding)],
        "separator": TOOL_NAME_SEPARATOR,
        "is_one": lollms_client.LollmsClient is LollmsClient,
        "there": pm.ensure_packages({{"pytest": ">=1"}}),
        "missing": pm.ensure_packages(["pytest", "no-such-package-at-all"]),
        "no_table": _dataframe_to_markdown(3),
    }}
"""


@pytest.fixture
def aliases() -> Iterator[None]:
    install_aliases()
    install_aliases()  # twice is once
    yield
    remove_aliases()


@pytest.mark.requirement("LCP-14")
@pytest.mark.parametrize("isolation", ["thread", "process"])
@pytest.mark.usefixtures("aliases")
def test_a_library_imports_what_it_expects(tmp_path: Path, isolation: str) -> None:
    (tmp_path / "names.py").write_text(LIBRARY.format(isolation=isolation))
    with SyncRuntime(tool_folders=[tmp_path], config=False, default_tools=False) as rt:
        result = rt.call("tool_names")
    assert result.error is None, result.error
    assert result.output == {
        "names": ["LollmsClient", "LCPBinding", "MCPBinding"],
        "separator": "::",
        "is_one": True,
        "there": True,
        "missing": False,
        "no_table": "3",
    }
    for said in (
        "WARNING: careful",
        "blue-green",
        "Panel\ninside",
        "ValueError: traced",
        "not installed: no-such-pack",
    ):
        assert said in result.stdout
    assert "pip install no-such-package-at-all" in result.stdout


@pytest.mark.requirement("LCP-14")
def test_without_asking_for_it_nothing_is_there(tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text("def tool_x():\n    import lollms_client\n")
    with SyncRuntime(tool_folders=[tmp_path], config=False, default_tools=False) as rt:
        result = rt.call("tool_x")
    assert result.error is not None and "No module named 'lollms_client'" in result.error.message


@pytest.mark.requirement("LCP-14")
def test_removing_them_leaves_nothing_behind(aliases: None) -> None:
    import lollms_client.tools_bindings.mcp as bindings  # pyright: ignore[reportMissingImports]

    assert bindings.MCPBinding is MCPBinding
    assert (LCPBinding.__module__, LollmsClient.__module__) == ("sutler.lcp.binding", "sutler.lcp.client")
    remove_aliases()
    assert not set(ALIASES) & set(sys.modules)
    with pytest.raises(ModuleNotFoundError):
        import lollms_client  # noqa: F401  # pyright: ignore[reportMissingImports]
    assert bindings.MCPBinding is MCPBinding  # what was imported goes on working


@pytest.mark.usefixtures("aliases")
def test_a_name_that_is_not_served_says_what_stands_there() -> None:
    import lollms_client  # pyright: ignore[reportMissingImports]

    with pytest.raises(AttributeError, match=r"lollms_client is sutler\.lcp here, which has no 'LollmsDiscussion'"):
        _ = lollms_client.LollmsDiscussion
    with pytest.raises(ModuleNotFoundError, match=r"lollms_client\.lollms_discussion"):
        import lollms_client.lollms_discussion  # pyright: ignore[reportMissingImports]


@pytest.mark.requirement("LCP-14")
def test_what_is_installed_is_what_is_imported(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "lollms_client").mkdir(parents=True)
    (site / "lollms_client" / "__init__.py").write_text("NAME = 'the real one'\n")
    (site / "ascii_colors.py").write_text("NAME = 'real too'\n")
    program = textwrap.dedent(
        """
        from sutler.lcp import install_aliases
        install_aliases()
        import ascii_colors, lollms_client, pipmaster
        try:
            import lollms_client.tools_bindings.mcp
        except ModuleNotFoundError as error:
            print(error)
        print(lollms_client.NAME, ascii_colors.NAME, pipmaster.is_installed("pytest"))
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={"PYTHONPATH": str(site), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "No module named 'lollms_client.tools_bindings'",
        "the real one real too True",
    ], done.stderr
