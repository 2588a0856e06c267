"""What tests of launches share."""

import numpy as np
import pytest

from ruda import cache
from ruda.launch import compilation


@pytest.fixture
def fronts(monkeypatch):
    """The kernels that the front end built."""
    found = []
    build = compilation.front

    def front(source, variant):
        found.append(source.name)
        return build(source, variant)

    monkeypatch.setattr(compilation, "front", front)
    return found


@pytest.fixture
def launched():
    """``launched(client, kernel, *args)``: whether that needed the front end, and the text that the server got."""

    def hits():
        return cache.stats().get("fake", cache.Counters()).index_hits

    def launch(client, kernel, *args, block=32):
        before = hits()
        kernel[1, block](client.array(np.arange(5, dtype=np.float32)), *args)
        return hits() == before, client.server.named("launch")[-1][1].source.text

    return launch


@pytest.fixture
def launches():
    """``launches(client)``: the launches that the server was asked for."""
    return lambda client: client.server.named("launch")


@pytest.fixture
def packed(launches):
    """``packed(client)``: the packed block of the last launch."""
    return lambda client: launches(client)[-1][3]


@pytest.fixture
def f32():
    """``f32(client, n)``: an array of 0 to n - 1."""
    return lambda client, n=5: client.array(np.arange(n, dtype=np.float32))


@pytest.fixture
def params(launches):
    """``params(client)``: the parameter lines of the last kernel, which are what the front end was asked for."""

    def lines(client):
        text = launches(client)[-1][1].source.text
        return [line for line in text.splitlines() if line.startswith(("array", "scalar"))]

    return lines
