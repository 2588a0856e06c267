"""The launch path in C does what the generated functions do, and leaves to them whatever is unusual."""

import gc
import inspect
import struct
import sys
import threading
import weakref

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.errors import RudaError
from ruda.launch import native

needs_c = pytest.mark.skipif(native._launcher is None, reason="ruda was built without a C compiler")


@pytest.fixture(params=["C", "Python"])
def twin(request, monkeypatch):
    """Which of the two launchers made from now on are."""
    if request.param == "Python":
        monkeypatch.setattr(native, "_launcher", None)
    elif native._launcher is None:
        pytest.skip("ruda was built without a C compiler")
    return request.param


def made():
    """A new kernel, none of whose launchers exists."""

    @ruda.kernel
    def scale(x: dsl.Array[dsl.f32], y, a: dsl.f32 = 2.0, step: dsl.Const = 1):
        i = dsl.global_idx.x
        y[i] = a * x[i] + step

    return scale


def generated(call):
    """How often ``call`` runs one of the generated functions."""
    entered = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith("<ruda launcher"):
            entered.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(entered)


def arrays(client, n=3):
    return [client.array(np.arange(5, dtype=np.float32)) for _ in range(n)]


def launched(client):
    return [call[3] for call in client.server.named("launch")]


@needs_c
def test_plain_launches_run_no_generated_function(client):
    scale, (x, y, z) = made(), arrays(client)
    launch = scale[1, 32]
    for args in ((x, y, 1.5, 3), (x, z, np.float32(2), 4), (z, z, 1.0, True)):
        assert generated(lambda args=args: launch(*args)) > 0, "the first has to look"
        assert generated(lambda args=args: launch(*args)) == 0
    assert generated(lambda: launch(x, y, a=1.5, step=3)) > 0, "keywords are Python's"
    assert generated(lambda: launch(x, y)) > 0, "and so are defaults"
    assert launched(client)[1] == x.packed + y.packed + struct.pack("<f4x", 1.5)


@needs_c
def test_forall_and_hidden_scalars(client):
    scale, (x, y, _) = made(), arrays(client)
    launch = scale.forall(3)
    launch(x, y, 1.5, 1)
    assert generated(lambda: launch(x, y, 1.5, 1)) == 0
    first, second = launched(client)
    assert first == second
    assert len(second) == len(x.packed + y.packed) + 16, "how many there are follows"


#: Calls that are not plain: each gives what it does, or its error.
UNUSUAL = {
    "too few": lambda launch, x, y: launch(x),
    "too many": lambda launch, x, y: launch(x, y, 1.0, 1, 2),
    "an unknown name": lambda launch, x, y: launch(x, y, b=1.0),
    "twice": lambda launch, x, y: launch(x, y, x=x),
    "no array": lambda launch, x, y: launch(1.0, y, 1.0, 1),
    "NumPy's": lambda launch, x, y: launch(np.zeros(3, np.float32), y, 1.0, 1),
    "another dtype": lambda launch, x, y: launch(x.client.zeros(3, "i32"), y, 1.0, 1),
    "no number": lambda launch, x, y: launch(x, y, "one", 1),
    "too large": lambda launch, x, y: launch(x, y, 1e300, 1),
    "no key": lambda launch, x, y: launch(x, y, 1.0, []),
    "names": lambda launch, x, y: launch(y=y, x=x, step=1),
    "a default": lambda launch, x, y: launch(x, y),
}


@pytest.mark.parametrize("call", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_calls_are_as_in_python(client, monkeypatch, call):
    x, y, _ = arrays(client)

    def outcome():
        scale = made()
        scale[1, 32](x, y, 1.0, 1)
        before = len(launched(client))
        try:
            call(scale[1, 32], x, y)
        except (RudaError, TypeError, OverflowError) as error:
            return type(error), str(error)
        finally:
            assert not client.stream0.lock.locked()
        return launched(client)[before:]

    first = outcome()
    monkeypatch.setattr(native, "_launcher", None)
    assert first == outcome()


def test_freed_arrays_are_refused(client, twin):
    scale, (x, y, _) = made(), arrays(client)
    launch = scale[1, 32]
    launch(x, y, 1.0, 1)
    y.free()
    with pytest.raises(ruda.errors.ArgumentError, match="argument 'y' was freed"):
        launch(x, y, 1.0, 1)


def test_arrays_of_another_stream_are_waited_for(client, twin):
    scale, (x, y, _) = made(), arrays(client)
    launch, other = scale[1, 32], scale[1, 32, client.stream()]
    for _ in range(2):
        launch(x, y, 1.0, 1)
        other(x, y, 1.0, 1)
    streams = [call[5] for call in client.server.named("launch")]
    assert streams[0] == streams[2] == 0
    assert streams[1] == streams[3] != 0
    assert len(client.server.named("wait")) >= 3


@pytest.mark.parametrize("error", [RuntimeError("it failed"), KeyboardInterrupt()], ids=["error", "Ctrl-C"])
def test_an_error_of_the_launch_comes_out_and_the_lock_is_free(client, twin, error):
    scale, (x, y, _) = made(), arrays(client)
    launch = scale[1, 32]
    launch(x, y, 1.0, 1)

    def fail(*_):
        assert client.stream0.lock.locked()
        raise error

    client.server.on_launch = fail
    with pytest.raises(type(error)):
        launch(x, y, 1.0, 1)
    assert not client.stream0.lock.locked()
    client.server.on_launch = None
    launch(x, y, 1.0, 1)


def test_after_close(make_client, twin):
    client = make_client()
    scale, (x, y, _) = made(), arrays(client)
    launch = scale[1, 32]
    launch(x, y, 1.0, 1)
    client.close()
    with pytest.raises(RudaError, match="closed"):
        launch(x, y, 1.0, 1)


def test_references_are_given_back(client, twin):
    scale, (x, y, _) = made(), arrays(client)
    launch, number, step = scale[1, 32], 1234.5, 123456
    bad = ["no key"]
    values = (x, y, number, step, x.memory, x.packed, bad, client.stream0, client.stream0.server)

    def calls():
        for _ in range(50):
            launch(x, y, number, step)
            for wrong in ((x, y, bad, step), (x,), (bad, y, number, step)):
                with pytest.raises(ruda.errors.ArgumentError):
                    launch(*wrong)

    calls()
    gc.collect()
    before = [sys.getrefcount(value) for value in values]
    calls()
    gc.collect()
    grown = [sys.getrefcount(value) - count for value, count in zip(values, before, strict=True)]
    assert max(grown) < 25, grown  # the server writes launches down: some hold the packed block, none these


def test_launchers_keep_no_array_and_go_with_their_kernel(client, twin):
    scale, (x, y, _) = made(), arrays(client)
    launch = scale[1, 32]
    launch(x, y, 1.0, 1)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
    kernel = weakref.ref(scale)
    del scale, launch
    gc.collect()
    assert kernel() is None


def test_many_threads_launch_at_once(client, twin):
    scale, (x, y, _) = made(), arrays(client)
    launch = scale[1, 32]
    launch(x, y, -1.0, 1)

    def work(number):
        for i in range(200):
            launch(x, y, float(200 * number + i), 1)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = sorted(struct.unpack_from("<f", block, 48)[0] for block in launched(client))
    assert numbers == [-1.0, *range(1600)]


def test_a_launcher_looks_like_its_kernel(client, twin):
    launch = made()[1, 32]
    assert launch.__name__ == launch.__qualname__ == "scale"
    assert list(inspect.signature(launch).parameters)[:4] == ["x", "y", "a", "step"]
    assert repr(launch).startswith("<function scale")
    with pytest.raises(AttributeError):
        _ = launch.nothing


def test_more_arguments_than_c_takes(client, twin):
    names = [f"x{i}" for i in range(70)]
    text = f"def many({', '.join(names)}):\n    x0[0] = x69[0]\n"
    scope = {}
    import linecache

    linecache.cache["<many>"] = len(text), None, text.splitlines(True), "<many>"
    exec(compile(text, "<many>", "exec"), scope)
    many, (x, y, _) = ruda.kernel(scope["many"]), arrays(client)
    for _ in range(2):
        many[1, 32](*[x] * 69, y)
    assert launched(client) == [x.packed * 69 + y.packed] * 2


@needs_c
def test_classes_without_the_slots_are_refused():
    class Plain:
        pass

    with pytest.raises((TypeError, AttributeError)):
        native._launcher.attach(Plain, Plain)


@needs_c
@pytest.mark.parametrize("letters", [b"", b"a" * 65])
def test_calls_of_another_length_are_pythons(letters):
    if len(letters) > 64:
        with pytest.raises(ValueError, match="64"):
            native._launcher.Launcher(lambda *args: None, {}, letters)
        return
    seen = []
    launcher = native._launcher.Launcher(lambda *args, **named: seen.append((args, named)), {}, letters)
    launcher(1, b=2)
    launcher()
    assert seen == [((1,), {"b": 2}), ((), {})]
