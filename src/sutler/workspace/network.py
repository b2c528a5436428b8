"""Cutting a process off: a seccomp filter on Linux that lets no socket be opened and no machine be administered.

Landlock's own rules know TCP only, and files. The filter needs no privilege, binds the process and all it starts, and
cannot be undone. Local sockets are refused too, since a daemon behind one may have the network; pairs of connected
sockets are not. Files that are open stay open. Refused beside them are calls by which root, or a fault of the kernel,
leads around Landlock: modules, mounts, namespaces, other processes' memory, keys, clocks.
"""

from __future__ import annotations

import os
import platform
import struct
import sys
from collections.abc import Sequence

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_GET_ACTION_AVAIL = 2
_ERRNO, _ALLOW = 0x00050000, 0x7FFF0000
_EACCES = 13
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32 = 0x40000000  # system calls of x86-64's other interface start here

# From the calls that every machine numbers alike on: io_uring_setup (a ring opens sockets without a system call), then
# open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr.
_RINGS = (425,)
_MOUNTS = (428, 429, 430, 431, 432, 433, 442)
# ptrace syslog pivot_root adjtimex chroot acct settimeofday mount umount2 swapon swapoff reboot sethostname
# setdomainname iopl ioperm init_module delete_module quotactl clock_settime kexec_load add_key request_key keyctl
# unshare perf_event_open name_to_handle_at open_by_handle_at clock_adjtime setns process_vm_readv process_vm_writev
# finit_module kexec_file_load bpf userfaultfd
_ADMIN_X86_64 = (
    101, 103, 155, 159, 161, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 175, 176, 179, 227, 246, 248, 249,
    250, 272, 298, 303, 304, 305, 308, 310, 311, 313, 320, 321, 323,
)  # fmt: skip
# The same without iopl and ioperm, as the newer machines number them.
_ADMIN_GENERIC = (
    117, 116, 41, 171, 51, 89, 170, 40, 39, 224, 225, 142, 161, 162, 105, 106, 60, 112, 104, 217, 218, 219, 97, 241,
    264, 265, 266, 268, 270, 271, 273, 294, 280, 282,
)  # fmt: skip

# machine -> (its number for the kernel, socket(2), seccomp(2), what administers)
_MACHINES = {
    "x86_64": (0xC000003E, 41, 317, _ADMIN_X86_64),
    "aarch64": (0xC00000B7, 198, 277, _ADMIN_GENERIC),
    "riscv64": (0xC00000F3, 198, 277, _ADMIN_GENERIC),
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


def cut_off(*, sockets: bool = False) -> None:
    """From now on this process, and all it starts, can open no socket, unless `sockets`, nor administer (EACCES).

    OSError where that cannot be had.
    """
    reason = cannot_cut_off()
    if reason:
        raise OSError(f"this system cannot cut a process off from the network: {reason}")
    import ctypes

    machine, socket, _, admin = _MACHINES[platform.machine()]
    program = _program(machine, (*(() if sockets else (socket, *_RINGS)), *_MOUNTS, *admin))
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) or libc.prctl(
        _PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), ctypes.c_char_p(described), zero, zero
    ):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _program(machine: int, refused: Sequence[int]) -> bytes:
    """The filter: any other machine's calls, x32's and those listed are refused, the rest allowed."""
    count = len(refused)
    steps = [
        (_LOAD, 0, 0, 4),  # the machine
        (_JUMP_EQUAL, 0, count + 3, machine),
        (_LOAD, 0, 0, 0),  # the number of the call
        (_JUMP_AT_LEAST, count + 1, 0, _X32),
        *((_JUMP_EQUAL, count - place, 0, number) for place, number in enumerate(refused)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | _EACCES),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
