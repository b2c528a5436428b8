"""`sutler doctor`: everything that could explain trouble, each line ok, a note or a problem."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..config import Config, user_config_file
from ..errors import ConfigError, SutlerError
from ..state import state_dir
from .context import Cli, wide_words
from .exits import CONFIG, FAILED, OK, Refused
from .findings import Finding, State, lines_of
from .findings_models import of_models
from .findings_servers import of_servers
from .findings_tools import of_tools
from .text import count

if TYPE_CHECKING:
    from ..runtime import SyncRuntime


def doctor(cli: Cli) -> int:
    """Explain any trouble: configuration, sources, tools, policy, limits, sandbox, store. Runs no tool."""
    found = [_system()]
    config, problems = _config(cli)
    found += problems
    runtime: SyncRuntime | None = None
    try:
        runtime = cli.open(config=config, quiet=True, every_server=True)
        inventory = runtime.inventory()
        found += [*of_servers(runtime), *of_models(runtime), *of_tools(runtime, inventory)]
        found += [*_policy(runtime), *_limits(runtime)]
    except (SutlerError, Refused, OSError) as error:
        found.append(Finding(about="runtime", state="problem", said=f"it cannot be opened: {error}"))
    found += [*_places(cli, runtime), _sandbox(), *_state(cli)]
    worst = [finding for finding in found if finding.state == "problem"]
    if cli.out.as_json:
        cli.out.document(
            {
                "ok": not worst,
                "findings": [
                    {"about": one.about, "state": one.state, "said": one.said, "do": one.do or None} for one in found
                ],
            }
        )
    else:
        _print(cli, found)
        noted = sum(finding.state == "note" for finding in found)
        cli.out.line(f"{count(len(worst), 'problem')}, {count(noted, 'note')}")
    if any(finding.about.startswith("config") for finding in worst):
        return CONFIG
    return FAILED if worst else OK


def _print(cli: Cli, found: list[Finding]) -> None:
    width = max(len(finding.about) for finding in found)
    across = shutil.get_terminal_size().columns if cli.out.person else 0
    for finding in found:
        for line in lines_of(finding, width, across):
            cli.out.line(line)


def _system() -> Finding:
    from .. import __version__

    said = f"sutler {__version__}, Python {platform.python_version()} ({sys.executable}), {platform.platform()}"
    return Finding(about="system", state="ok", said=said)


# ---------------------------------------------------------------------- config


def _config(cli: Cli) -> tuple[Config, list[Finding]]:
    """The configuration, or none when it cannot be used, and what is to be said of it."""
    user = user_config_file()
    found: list[Finding] = []
    try:
        config = cli.config()
    except ConfigError as error:
        found += [Finding(about="config", state="problem", said=str(problem)) for problem in error.problems]
        found.append(Finding(about="config", state="note", said="what follows is without any config"))
        return Config.empty(), found
    if config.file is None:
        said = "no sutler.toml in this folder or above it"
        found.append(Finding(about="config", state="note", said=said, do="`sutler init` makes one"))
    elif config.trusted:
        how = "named by --config, so trusted" if cli.given.config is not None else "trusted"
        found.append(Finding(about="config", state="ok", said=f"{config.file} ({how})"))
    else:
        said = f"{config.file} is not trusted; {count(len(config.withheld), 'part')} of it not in force"
        found.append(Finding(about="config", state="note", said=said, do="`sutler trust --show`, then `sutler trust`"))
        found += [Finding(about="config", state="note", said=sentence) for sentence in config.withheld]
    there = "" if user.exists() else " (there is none)"
    found.append(Finding(about="user config", state="ok", said=f"{user}{there}"))
    return config, found


# ---------------------------------------------------------------------- what is in force


def _policy(runtime: SyncRuntime) -> list[Finding]:
    policy = runtime.core.policy
    found = [Finding(about="policy", state="ok", said=f"level {policy.level}")]
    found += [
        Finding(about="policy", state="ok", said=f"level {level} for {source}")
        for source, level in policy.sources.items()
    ]
    if policy.network:
        found.append(Finding(about="policy", state="ok", said="network tools run without asking"))
    return found


def _limits(runtime: SyncRuntime) -> list[Finding]:
    held = runtime.settings.limits.to_dict()
    return [Finding(about="limits", state="ok", said=", ".join(f"{name} {value:,}" for name, value in held.items()))]


def _places(cli: Cli, runtime: SyncRuntime | None) -> list[Finding]:
    """The workspace, and where tools run (WSP-04)."""
    from ..workspace import per_thread_cwd
    from ..workspace.confine import confinement
    from ..workspace.network import cannot_cut_off

    found: list[Finding] = []
    if runtime is not None:
        root = runtime.workspace.root
        if cli.is_wide(runtime.settings.config):
            do = "choose another with --workspace DIR, or `sutler init FOLDER` and work there"
            found.append(Finding(about="workspace", state="note", said=wide_words(root), do=do))
        writable = os.access(root, os.W_OK)
        state: State = "ok" if writable else "problem"
        found.append(Finding(about="workspace", state=state, said=f"{root}{'' if writable else ' cannot be written'}"))
        given_up = runtime.core.threads.stats().abandoned
        state = "note" if given_up else "ok"
        found.append(Finding(about="threads", state=state, said=f"{given_up} given up in this process"))
    probe = per_thread_cwd()
    if probe.available:
        said = f"each thread has its own ({probe.how}): sync tools run on threads of the workspace"
        found.append(Finding(about="current folder", state="ok", said=said))
    else:
        said = (
            f"threads share one ({probe.reason}): tools of folders and config run in worker processes; functions of the"
            " host get the path of the workspace, not its folder"
        )
        found.append(Finding(about="current folder", state="note", said=said))
    held = confinement()
    if held.workers:
        said = (
            f"limits on {', '.join(name.removeprefix('RLIMIT_').lower() for name in held.limits)}; {held.nothing_left}"
        )
        found.append(Finding(about="workers", state="ok", said=said))
    else:
        found.append(Finding(about="workers", state="note", said="this platform has no worker processes"))
    open_network = cannot_cut_off()
    walls = f"Landlock, version {held.landlock}" if held.landlock else f"no Landlock: {held.reason}"
    network = (
        f"programs cannot be cut off from it: {open_network}" if open_network else "programs can be cut off (seccomp)"
    )
    found.append(Finding(about="confinement", state="ok" if held.landlock else "note", said=walls))
    found.append(Finding(about="network", state="note" if open_network else "ok", said=network))
    return found


def _sandbox() -> Finding:
    """Whether a program can start at all."""
    from ..programs import engine

    began = time.perf_counter()
    try:
        engine.warm()
    except Exception as error:
        said = f"it cannot be started: {type(error).__name__}: {error}"
        return Finding(about="sandbox", state="problem", said=said, do="reinstall pydantic-monty")
    return Finding(about="sandbox", state="ok", said=f"starts in {time.perf_counter() - began:.2f} s")


# ---------------------------------------------------------------------- state


def _state(cli: Cli) -> list[Finding]:
    folder = state_dir()
    found = [_permissions(folder)]
    path = cli.store_path()
    found += [_approvals(cli), _store(path)]
    return found


def _permissions(folder: Path) -> Finding:
    about = "state folder"
    try:
        held = folder.stat()
    except FileNotFoundError:
        above = next(one for one in folder.parents if one.exists())
        if not _can_be_made(above):
            do = "set SUTLER_STATE_DIR to a folder of your own"
            return Finding(about=about, state="problem", said=f"{folder} cannot be made in {above}", do=do)
        return Finding(about=about, state="ok", said=f"{folder} (made when it is first needed)")
    except OSError as error:
        do = "make it readable, or set SUTLER_STATE_DIR"
        return Finding(about=about, state="problem", said=f"{folder}: {error.strerror}", do=do)
    if not stat.S_ISDIR(held.st_mode):
        do = "move it away, or set SUTLER_STATE_DIR"
        return Finding(about=about, state="problem", said=f"{folder} is not a folder", do=do)
    if os.name == "posix":
        if held.st_uid != os.geteuid():
            do = "set SUTLER_STATE_DIR to a folder of your own"
            return Finding(about=about, state="problem", said=f"{folder} belongs to another user", do=do)
        for one in (folder, folder / "trust", folder / "runs", folder / "approvals"):
            if one.exists() and stat.S_IMODE(one.stat().st_mode) & 0o022:
                said = f"{one} can be written by other users, who could trust files in your name"
                return Finding(about=about, state="problem", said=said, do=f"chmod go-w {one}")
    if not os.access(folder, os.W_OK):
        do = "make it writable, or set SUTLER_STATE_DIR"
        return Finding(about=about, state="problem", said=f"{folder} cannot be written", do=do)
    return Finding(about=about, state="ok", said=str(folder))


def _can_be_made(above: Path) -> bool:
    """Whether a folder can be made there; some file systems let nobody, whatever the permissions say."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".sutler-", dir=above))  # noqa: PTH106 - the name is a text
    except OSError:
        return False
    return True


def _approvals(cli: Cli) -> Finding:
    """What is allowed beforehand in this project; a file that cannot be read allows nothing."""
    from ..policy.project import ProjectApprovals

    kept = ProjectApprovals(cli.project())
    if kept.trouble is not None:
        return Finding(about="approvals", state="problem", said=kept.trouble)
    held = [one for one in kept.all if not one.expired]
    said = f"{count(len(held), 'standing approval')} of {kept.project}; `sutler approvals` lists them"
    return Finding(about="approvals", state="ok", said=said if held else "none are standing in this project")


def _store(path: Path) -> Finding:
    from ..store import SqliteStore

    if not path.exists():
        return Finding(about="store", state="ok", said=f"{path} (made at the first call)")
    store = SqliteStore(path)
    try:
        store.runs(1)
        trouble = store.trouble
    except SutlerError as error:
        return Finding(about="store", state="problem", said=str(error))
    finally:
        store.close()
    size = path.stat().st_size
    return Finding(about="store", state="note" if trouble else "ok", said=trouble or f"{path} ({size:,} bytes)")
