"""What every command stands on: the options common to all, the config, the runtime, and the way to the person."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..policy.levels import Level
from .exits import Refused
from .out import Out
from .stdout import claim

if TYPE_CHECKING:
    from ..config import Config
    from ..policy.handlers.terminal import TerminalApproval
    from ..policy.handlers.terminal_questions import TerminalQuestions
    from ..runtime import SyncRuntime
    from .progress import Progress

_SHOWN = 5  # withheld parts of an untrusted file that are named; the rest is counted


@dataclass(slots=True)
class Process:
    """What a command may do to the process it runs in. claims: descriptor 1 is its own to take (see stdout.py).

    lingers: set when something still goes on that the process must not wait for.
    """

    claims: bool = False
    lingers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options common to all commands, wherever on the line they stood, and the process."""

    config: Path | None = None
    workspace: Path | None = None
    policy: Level | None = None
    as_json: bool = False
    process: Process = field(default_factory=Process)

    def over(self, deeper: Given) -> Given:
        """These, with those that stood further right on the line winning."""
        return replace(
            self,
            config=deeper.config or self.config,
            workspace=deeper.workspace or self.workspace,
            policy=deeper.policy or self.policy,
            as_json=deeper.as_json or self.as_json,
        )


class Cli:
    """One command being carried out."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.out = Out(as_json=given.as_json, own=claim() if given.process.claims else None)
        self.progress: Progress | None = None
        self._config: Config | None = None
        self._runtime: SyncRuntime | None = None
        self._asks = False

    # ------------------------------------------------------------------ where we are

    def project(self) -> Path:
        """The folder that runs are kept under: that of the sutler.toml in force, trusted or not, else this one."""
        from ..config.find import find_config

        if self.given.config is not None:
            return self.given.config.absolute().parent
        found = find_config(here())
        return found.parent if found is not None else here()

    def store_path(self) -> Path:
        from ..store import default_path

        return default_path(self.project())

    def config(self) -> Config:
        """The configuration in force. ConfigError with every problem of it."""
        if self._config is None:
            from ..config import load, user_config_file

            self._config = load(self.given.config, start=here(), user_file=user_config_file())
        return self._config

    def workspace(self, config: Config) -> Path:
        given = self.given.workspace
        if given is None:
            return config.workspace_root(here())
        if not given.is_dir():
            what = "is not a folder" if given.exists() else "there is no such folder"
            raise Refused(f"--workspace {given}: {what}")
        return given

    def is_wide(self, config: Config) -> bool:
        """Whether tools work in a whole home folder, or more, without anybody having said so."""
        chosen = self.given.workspace is not None or config.workspace.root is not None
        if chosen or (config.file is not None and config.trusted):
            return False
        try:
            home = Path.home().resolve()
        except RuntimeError:  # a user without one
            home = Path("/")
        return home.is_relative_to(here().resolve())

    # ------------------------------------------------------------------ the runtime

    def open(
        self,
        *,
        runs: bool = False,
        asks: bool = False,
        approves: bool = True,
        quiet: bool = False,
        profile: str | None = None,
        config: Config | None = None,
        waits: bool = True,
        every_server: bool = False,
    ) -> SyncRuntime:
        """The runtime of this command, open.

        runs: it will run tools. asks: the person may be asked at the terminal; approves: also whether a call may run.
        quiet: what is withheld is said elsewhere.
        waits: until the MCP servers that are started have answered or failed; else two seconds at most.
        every_server: start also those whose tools are remembered; else the first call of one does.
        """
        from ..runtime import SyncRuntime

        config = config or self.config()
        options = self.options(quiet=quiet, profile=profile, config=config)
        if runs and self.is_wide(config):
            self.out.note(wide_words(self.workspace(config)))
        if runs:
            from .progress import Progress

            self.progress = Progress(sys.stderr)
        approval = self._approval() if runs and asks and approves else None
        questions = self._questions() if runs and asks else None
        self._asks = approval is not None
        runtime = SyncRuntime(
            **options,
            lazy_servers=not every_server,
            confirm_handler=approval,
            user_interaction_handler=questions,
            on_event=self.progress.heard if self.progress is not None else None,
        )
        self._runtime = runtime
        runtime.open()
        if waits and runtime.core.servers is not None:
            runtime.core.servers.wait_connected()
        return runtime

    def options(
        self, *, quiet: bool = False, profile: str | None = None, config: Config | None = None
    ) -> dict[str, Any]:
        """The keywords of a runtime of this command, but for those by which it speaks to a person."""
        config = config or self.config()
        if not config.trusted and not quiet:
            self._tell_untrusted(config)
        return {
            "config": config,
            "workspace": self.workspace(config),
            "policy": self.given.policy,
            "profile": profile,
            "project": self.project(),
            "store": self.store_path(),
        }

    def hush(self) -> None:
        """Nothing moves on the terminal any more."""
        if self.progress is not None:
            self.progress.stop()

    def close(self) -> None:
        """Ends what the command opened, and says what does not end."""
        self.hush()
        runtime, self._runtime = self._runtime, None
        left = runtime.close() if runtime is not None else ()
        if self._asks:
            from ..policy.handlers.console import restore_terminal

            restore_terminal()
        if left:  # what goes on ends with the process, so nothing is said of it
            self.given.process.lingers = True

    def tell_how_to_allow(self, refusal: str, *, waits: bool = False) -> None:
        """After a call was denied: how this command would have been allowed, when nobody could be asked."""
        if not self._asks and "there is nobody to ask" in refusal:
            level = ", or allow it in this command with --policy full_access" if "full_access" in refusal else ""
            wait = ", or let it wait with --wait" if waits else ""
            self.out.note(f"run it at a terminal to be asked{wait}{level}")

    def _tell_untrusted(self, config: Config) -> None:
        said = self.out.say
        if not config.withheld:
            said(f"note: {config.file} is not trusted yet; it holds nothing that is withheld")
            return
        said(f"note: {config.file} is not trusted, so this of it is not in force:")
        for sentence in config.withheld[:_SHOWN]:
            said(f"  {sentence.replace(': withheld: ', ': ')}")
        if len(config.withheld) > _SHOWN:
            said(f"  and {len(config.withheld) - _SHOWN} more")
        said("  look at it with `sutler trust --show`, and say yes to it with `sutler trust`")

    def _approval(self) -> TerminalApproval | None:
        """The person at the terminal, if there is one."""
        if not at_terminal():
            return None
        from ..policy.handlers.terminal import TerminalApproval

        assert self.progress is not None
        return TerminalApproval(pause=self.progress.paused, lasts="in this command", project=True)

    def _questions(self) -> TerminalQuestions | None:
        """The same person, for what tools ask by themselves."""
        if not at_terminal():
            return None
        from ..policy.handlers.terminal_questions import TerminalQuestions

        assert self.progress is not None
        return TerminalQuestions(pause=self.progress.paused)


def wide_words(root: Path) -> str:
    return f"tools may write anywhere in {root}, because it is the workspace; choose another with --workspace DIR"


def here() -> Path:
    """The current folder."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Refused("the current folder has been removed; change to one that is there") from None


def at_terminal() -> bool:
    """A terminal is somebody only when both stdin and stderr are one."""
    from ..policy.handlers.console import somebody_there

    return somebody_there()


def failure_document(kind: str, message: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What --json says of a command that could not be carried out."""
    return {"success": False, "kind": kind, "error": message, **(more or {})}
