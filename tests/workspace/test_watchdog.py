from __future__ import annotations

import math
import threading
import time

import pytest

from sutler.workspace.watchdog import Deadline, register, unregister


class Bell:
    def __init__(self, due: float = math.inf, *, fails: bool = False) -> None:
        self.due = due
        self.rung: list[float] = []
        self.heard = threading.Event()
        self.fails = fails

    def expired(self) -> None:
        self.rung.append(self.due)
        self.heard.set()
        if self.fails:
            raise ValueError("a bell that breaks")


@pytest.mark.requirement("RUN-12")
def test_the_watchdog_reports_each_due_once_and_a_new_due_again() -> None:
    bell = Bell()
    register(bell)
    try:
        assert not bell.heard.wait(0.1)
        bell.due = first = time.monotonic()
        assert bell.heard.wait(5)
        time.sleep(0.15)
        assert bell.rung == [first]
        bell.heard.clear()
        bell.due = second = time.monotonic()
        assert bell.heard.wait(5)
        assert bell.rung == [first, second]
    finally:
        unregister(bell)


def test_one_that_fails_does_not_silence_the_others(caplog: pytest.LogCaptureFixture) -> None:
    broken, whole = Bell(time.monotonic(), fails=True), Bell(time.monotonic() + 0.1)
    register(broken)
    register(whole)
    try:
        assert whole.heard.wait(5)
        assert broken.rung
        assert "a bell that breaks" in caplog.text
    finally:
        unregister(broken)
        unregister(whole)


def test_what_is_no_longer_registered_is_left_alone() -> None:
    bell = Bell()
    register(bell)
    unregister(bell)
    unregister(bell)
    bell.due = time.monotonic()
    assert not bell.heard.wait(0.15)


@pytest.mark.requirement("RUN-12")
def test_a_pause_does_not_count_and_the_last_of_several_ends_it() -> None:
    deadline = Deadline(0.3)
    go_on = threading.Event()

    def ask_elsewhere() -> None:
        with deadline.pause():
            go_on.wait(5)

    with deadline.pause():
        other = threading.Thread(target=ask_elsewhere)
        with deadline.pause():
            other.start()
            time.sleep(0.4)
    assert deadline.due == math.inf
    left = deadline.remaining()
    assert 0 < left <= 0.3
    assert not deadline.expired
    time.sleep(0.05)
    assert deadline.remaining() == left
    go_on.set()
    other.join()
    assert math.isfinite(deadline.due)
    time.sleep(0.35)
    assert deadline.expired
    assert deadline.remaining() == 0


def test_a_deadline_can_be_extended_also_while_it_is_paused() -> None:
    deadline = Deadline(0.0)
    assert deadline.expired
    deadline.extend(60)
    assert 59 < deadline.remaining() <= 60
    with deadline.pause():
        deadline.extend(60)
    assert 119 < deadline.remaining() <= 120
    deadline.extend(-500)
    assert deadline.expired


def test_no_seconds_means_no_end() -> None:
    deadline = Deadline(None)
    assert deadline.remaining() == math.inf
    with deadline.pause():
        assert deadline.remaining() == math.inf
    assert deadline.due == math.inf
    assert not deadline.expired


def test_a_watchdog_rings_when_a_deadline_it_watches_is_over() -> None:
    class Call:
        def __init__(self) -> None:
            self.deadline = Deadline(0.05)
            self.over = threading.Event()

        @property
        def due(self) -> float:
            return self.deadline.due

        def expired(self) -> None:
            self.over.set()

    call = Call()
    register(call)
    try:
        with call.deadline.pause():
            assert not call.over.wait(0.2)
        assert call.over.wait(5)
    finally:
        unregister(call)
