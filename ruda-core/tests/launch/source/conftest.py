"""Hand-written kernels, and a device whose compiler takes their languages."""

import pytest

import ruda
from ruda.contract import Source


@pytest.fixture
def taking():
    """``taking(client)``: the client, whose compiler takes "toy" and "toy assembly", and keeps what it was given."""

    def make(client):
        compiler = client.compiler
        compiler.languages, compiler.taken = ("toy", "toy assembly"), []

        def take(text):
            compiler.taken.append(text)
            full = f"{text.options} {sorted(text.headers.items())}\n{text.text}"
            return Source(full, text.name, {"line": text.pos.line})

        compiler.take = take
        return client

    return make


@pytest.fixture
def client(client, taking):
    """A device that takes "toy"."""
    return taking(client)


@pytest.fixture
def toy():
    """``toy(name, params, text)``: a kernel of this language."""

    def make(name="saxpy", params="a: f32, x: f32[:], y: f32[:], n: i32", text=None, **more):
        text = "\ntoy saxpy(float a, const float *x, float *y, int n)\n" if text is None else text
        return ruda.source_kernel(text, name, params, **{"language": "toy", **more})

    return make


@pytest.fixture
def address():
    """``address(array)``: where its element 0 is."""
    return lambda array: array.memory.allocation.address + array.start
