"""Cutting a process off from every network: a seccomp filter on Linux that lets no socket be opened.

Landlock's own rules know TCP only. The filter needs no privilege, binds the process and all it starts, and cannot be
undone. Local sockets are refused too, since a daemon behind one may have the network; pairs of connected sockets are
not. Files that are open stay open.
"""

from __future__ import annotations

import os
import platform
import struct
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_GET_ACTION_AVAIL = 2
_ERRNO, _ALLOW = 0x00050000, 0x7FFF0000
_EACCES = 13
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32 = 0x40000000  # system calls of x86-64's other interface start here
_IO_URING_SETUP = 425  # a ring opens sockets without the system call

# machine -> (its number for the kernel, socket(2), seccomp(2))
_MACHINES = {
    "x86_64": (0xC000003E, 41, 317),
    "aarch64": (0xC00000B7, 198, 277),
    "riscv64": (0xC00000F3, 198, 277),
}


def cannot_cut_off() -> str:
    """Why a process cannot be cut off from the network here; "" where it can. Changes nothing."""
    if sys.platform != "linux":
        return f"{sys.platform} has no seccomp"
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.maxsize < 2**32:
        return f"no filter is known for {platform.machine()}"
    import ctypes

    seccomp, ask, zero = (ctypes.c_long(number) for number in (machine[2], _GET_ACTION_AVAIL, 0))
    if ctypes.CDLL(None, use_errno=True).syscall(seccomp, ask, zero, ctypes.byref(ctypes.c_uint32(_ERRNO))):
        return f"the kernel refuses seccomp: {os.strerror(ctypes.get_errno())}"
    return ""


def cut_off() -> None:
    """From now on this process, and all it starts, can open no socket (EACCES). OSError where that cannot be had."""
    reason = cannot_cut_off()
    if reason:
        raise OSError(f"this system cannot cut a process off from the network: {reason}")
    import ctypes

    program = _program(*_MACHINES[platform.machine()][:2])
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) or libc.prctl(
        _PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), ctypes.c_char_p(described), zero, zero
    ):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _program(machine: int, socket: int) -> bytes:
    """The filter: any other machine's calls, x32's, socket() and io_uring_setup() are refused, the rest allowed."""
    steps = [
        (_LOAD, 0, 0, 4),  # the machine
        (_JUMP_EQUAL, 0, 5, machine),
        (_LOAD, 0, 0, 0),  # the number of the call
        (_JUMP_AT_LEAST, 3, 0, _X32),
        (_JUMP_EQUAL, 2, 0, socket),
        (_JUMP_EQUAL, 1, 0, _IO_URING_SETUP),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | _EACCES),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
