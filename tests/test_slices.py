"""Runs of tables side by side: everything is waited for, whatever happens on the way."""

import copy
import signal
import threading
import time

import pytest

from belote_env.envs.slices import Slices


def test_every_table_once_and_the_first_run_in_the_callers_thread():
    for n, threads in ((1, 1), (7, 3), (10, 2), (3, 8)):
        slices, seen, where = Slices(n, threads), [], {}
        for _ in range(3):
            seen.clear()

            def work(lo, hi, seen=seen, where=where):
                where[lo] = threading.current_thread()
                seen.extend(range(lo, hi))

            slices.run(work)
            assert sorted(seen) == list(range(n))
            assert where[0] is threading.main_thread()
            assert len(set(where.values())) == min(n, threads)
        slices.close()
        slices.run(work)
        assert len(seen) == 2 * n


@pytest.mark.parametrize("where", [0, 2, 4])
def test_an_error_is_raised_once_all_have_ended(where):
    slices, ended = Slices(6, 3), set()

    def work(lo, hi):
        if lo == where:
            raise KeyError(lo)
        time.sleep(0.05)
        ended.add(lo)

    for _ in range(2):
        ended.clear()
        with pytest.raises(KeyError, match=str(where)):
            slices.run(work)
        assert ended == {0, 2, 4} - {where}
    slices.run(lambda lo, hi: ended.add(lo))  # nothing of it is left


@pytest.fixture
def _interrupts():
    """SIGINT raises: a suite in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interrupts")
def test_an_interrupt_waits_for_the_others():
    slices, ended = Slices(2, 2), []

    def work(lo, hi):
        if lo == 0:
            return
        for _ in range(3):  # while the caller waits
            time.sleep(0.05)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.1)
        ended.append(lo)

    for count in range(1, 4):
        with pytest.raises(KeyboardInterrupt):
            slices.run(work)
        assert len(ended) == count
    slices.run(lambda lo, hi: ended.append(lo))
    assert len(ended) == 5


def test_threads_that_cannot_be_started_leave_none_behind(monkeypatch):
    slices, start = Slices(8, 8), threading.Thread.start
    started: list[threading.Thread] = []  # its own alone: threads that other tests left may end at any moment

    def two_only(self):
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", two_only)
    with pytest.raises(RuntimeError):
        slices.run(lambda lo, hi: None)
    for thread in started:
        thread.join(10)
    assert len(started) == 2 and not any(thread.is_alive() for thread in started)


def test_a_copy_has_threads_of_its_own():
    slices, seen = Slices(4, 2), []
    slices.run(lambda lo, hi: None)
    copy.deepcopy(slices).run(lambda lo, hi: seen.append(lo))
    assert sorted(seen) == [0, 2]
