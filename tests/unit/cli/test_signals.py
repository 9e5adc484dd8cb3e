"""Signals that end the process give it the time to clean up."""

import os
import signal
import threading

import pytest

from copa.cli.messages import TerminatedError, exit_code, signals_as_exceptions

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_raises_and_has_its_exit_code(number, code):
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(TerminatedError) as caught, signals_as_exceptions():
            os.kill(os.getpid(), number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert exit_code(caught.value) == code
    assert exit_code(KeyboardInterrupt()) == 130


def test_a_second_signal_does_not_disturb_the_cleaning_up():
    cleaned = []

    def work():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            cleaned.append(True)

    with pytest.raises(TerminatedError), signals_as_exceptions():
        work()
    assert cleaned


def test_signals_that_are_ignored_or_handled_by_others_stay_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with signals_as_exceptions():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_leave_signals_alone():
    found = []

    def work():
        with signals_as_exceptions():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]
