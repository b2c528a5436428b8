"""What a worker process may use and touch: resource limits, and Landlock on Linux.

A guard against mistakes and runaway code. Landlock binds the process and all it starts, and cannot be undone.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_PR_SET_NO_NEW_PRIVS = 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14  # from ABI 2 and 3
_SCOPE_SIGNAL = 1 << 1  # from ABI 6: what is confined cannot signal what is not

_READS = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICES = _MAKE_CHAR | _MAKE_BLOCK  # nobody may make those
_WRITES = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys", "/dev", "/run", "/nix")
# What programs need to start and to speak of users and times; no other file of the machine.
_PROGRAMS = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone",
    "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/os-release", "/etc/mime.types",
    "/etc/magic", "/etc/locale.alias",
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/sys/devices/system/cpu",
    "/dev/random", "/dev/urandom",
)  # fmt: skip
_SINKS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """What one worker process may use; None leaves the system's own limit.

    memory_mb: writable memory. cpu_seconds: processor time of one call. processes: how many more processes and threads
    the user may have than when the worker started (the system counts per user, and never root's). open_files: at once.
    file_mb: one written file. output_bytes: of each printed stream of one call; the middle of more is left out, and
    said so. result_bytes: one answer.
    """

    memory_mb: int | None = 2_048
    cpu_seconds: int | None = None
    processes: int | None = None
    open_files: int | None = 1_024
    file_mb: int | None = 4_096
    output_bytes: int = 1_000_000
    result_bytes: int = 256_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """Where a confined worker may write, and read: `read` None leaves reading free, else it is these folders, the
    write roots, and what the system and Python need.

    system: "all" for a worker that runs Python libraries; "programs" for no more than programs need to start.
    """

    write: tuple[Path, ...]
    read: tuple[Path, ...] | None = None
    system: Literal["all", "programs"] = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What this machine offers for worker processes. `landlock`: its ABI version, 0 for none, with the reason."""

    workers: bool
    landlock: int
    reason: str
    limits: tuple[str, ...]
    nothing_left: str


def confinement() -> Confinement:
    """For `doctor`: asks the kernel, changes nothing."""
    abi, reason = _landlock_abi()
    workers = hasattr(os, "fork")
    names = ("RLIMIT_DATA", "RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE")
    held: tuple[str, ...] = ()
    if workers:
        import resource

        held = tuple(name for name in names if hasattr(resource, name))
    if sys.platform == "linux":
        left = "every descendant of a worker ends with it, also when the host is killed"
    else:
        left = "the worker's process group ends with it; a descendant that left the group does not"
    return Confinement(workers=workers, landlock=abi, reason=reason, limits=held, nothing_left=left if workers else "")


def apply_limits(limits: WorkerLimits) -> None:
    """Set all but the processor time on this process. A limit already lower stays."""
    import resource

    def lower(kind: int, value: int | None) -> None:
        if value is None:
            return
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (value, value))

    megabyte = 1 << 20
    # RLIMIT_DATA counts what is written; RLIMIT_AS would also count address space that allocators only reserve.
    memory = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    lower(resource.RLIMIT_CORE, 0)
    lower(memory, None if limits.memory_mb is None else limits.memory_mb * megabyte)
    lower(resource.RLIMIT_NOFILE, limits.open_files)
    lower(resource.RLIMIT_FSIZE, None if limits.file_mb is None else limits.file_mb * megabyte)
    lower(resource.RLIMIT_NPROC, None if limits.processes is None else _user_tasks() + limits.processes)


def limit_cpu(seconds: int | None) -> None:
    """From now on this process may use `seconds` more of processor time, then SIGXCPU ends it."""
    if seconds is None:
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (until if hard == resource.RLIM_INFINITY else min(until, hard), hard))


def restrict(roots: Roots) -> None:
    """Confine this process and all it will start, for ever. OSError where Landlock is not offered or refuses."""
    abi, reason = _landlock_abi()
    if not abi:
        raise OSError(f"this system cannot confine a worker to folders: {reason}")
    writes = _WRITES | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    handled = writes | _DEVICES | (0 if roots.read is None else _READS)
    attributes = struct.pack("=QQQ", handled, 0, _SCOPE_SIGNAL)[: 24 if abi >= 6 else 8]
    ruleset = _syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in roots.write:
            _allow(ruleset, path, (writes | _READS) & handled)
        for path in _SINKS:
            _allow(ruleset, Path(path), (_WRITE_FILE | _TRUNCATE | _READ_FILE) & handled, optional=True)
        if roots.read is not None:
            for path in roots.read:
                _allow(ruleset, path, _READS)
            for path in _needed() if roots.system == "all" else map(Path, _PROGRAMS):
                _allow(ruleset, path, _READS, optional=True)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _needed() -> Iterable[Path]:
    yield from map(Path, _SYSTEM)
    for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path):
        if path:
            yield Path(path)


def _allow(ruleset: int, path: Path, access: int, *, optional: bool = False) -> None:
    try:
        held = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError:
        if optional:
            return
        raise
    try:
        if not path.is_dir():
            access &= _FILE_ONLY
        if access:
            _syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", access, held), 0)
    finally:
        os.close(held)


def _landlock_abi() -> tuple[int, str]:
    if sys.platform != "linux":
        return 0, f"{sys.platform} has no Landlock"
    try:
        return _syscall(_CREATE_RULESET, None, 0, 1), ""
    except OSError as error:
        return 0, f"the kernel refuses Landlock: {error.strerror}"


def _syscall(number: int, *args: int | bytes | None) -> int:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    given: int = libc.syscall(ctypes.c_long(number), *wide)
    if given < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return given


def _prctl(option: int, value: int) -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), 0, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _user_tasks() -> int:
    """How many processes and threads this user has now."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            if folder.stat().st_uid == os.getuid():
                count += int((folder / "stat").read_text().rpartition(")")[2].split()[17])
    return count
