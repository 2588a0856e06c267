"""Calls of C functions with a packed block, compiled and through ctypes."""

import ctypes
import sys
import threading
import time

import pytest

from ruda.contract import foreign, packed_call

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)


@pytest.fixture(params=["C", "ctypes"])
def twin(request, monkeypatch):
    """Which of the two makes the call."""
    if request.param == "ctypes":
        monkeypatch.setattr(foreign, "_foreign", None)
    elif foreign._foreign is None:
        pytest.skip("ruda was built without a C compiler")
    return request.param


class Cell:
    """Memory for the address of a packed block."""

    def __init__(self):
        self.word = ctypes.c_void_p()
        self.address = ctypes.addressof(self.word)


def test_the_function_gets_its_words_and_finds_the_block(twin):
    cell, seen = Cell(), []

    def function(*words):
        seen.append((words, ctypes.string_at(cell.word.value, 5)))
        return 7

    callback = FUNCTION(function)
    words = (1, (1 << 64) - 1, cell.address, 0)
    call = packed_call(ctypes.cast(callback, ctypes.c_void_p).value, words, cell.address, (callback, cell))
    assert [call(b"first"), call(b"2nd\0\1")] == [7, 7]
    assert seen == [((1, (1 << 64) - 1, cell.address, None), b) for b in (b"first", b"2nd\0\1")]


def test_what_it_lies_in_is_kept(twin):
    cell = Cell()
    callback = FUNCTION(lambda *words: 3)
    call = packed_call(ctypes.cast(callback, ctypes.c_void_p).value, (0, 0, 0, 0), cell.address, (callback, cell))
    before = sys.getrefcount(cell)
    assert before > 2
    del callback
    assert call(b"") == 3
    del call
    assert sys.getrefcount(cell) == before - 1


def test_negative_statuses_and_errors_of_use(twin):
    cell = Cell()
    callback = FUNCTION(lambda *words: -5)
    call = packed_call(ctypes.cast(callback, ctypes.c_void_p).value, (0, 0, 0, 0), cell.address, (callback, cell))
    assert call(b"x") == -5
    for wrong in ((), (b"x", b"y"), ("x",), (1,)):
        with pytest.raises(TypeError):
            call(*wrong)


@pytest.mark.skipif(sys.platform == "win32", reason="poll is POSIX")
def test_others_run_during_the_call(twin):
    """The GIL is let go: C waits for 300 ms, and Python counts meanwhile."""
    poll = ctypes.cast(ctypes.CDLL(None).poll, ctypes.c_void_p).value
    cell, counts = Cell(), [0]

    def count():
        while not done.is_set():
            counts[0] += 1
            time.sleep(0.001)

    done, thread = threading.Event(), threading.Thread(target=count)
    call = packed_call(poll, (0, 0, 300, 0), cell.address, cell)
    thread.start()
    before = counts[0]
    assert call(b"") == 0
    during = counts[0] - before
    done.set()
    thread.join()
    assert during > 5
