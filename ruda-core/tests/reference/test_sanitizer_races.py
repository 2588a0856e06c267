"""Races that the sanitizer finds in random kernels, against all pairs of accesses; and none in the fuzzer's kernels."""

import random
from itertools import combinations

import numpy as np
import pytest

import ruda
from ruda import dsl
from ruda.conformance.fuzz.check import differ
from ruda.conformance.fuzz.generate import generate

ELEMENTS = 3
KINDS = ("read", "write", "update", "peek")
HARMLESS = ({"read"}, {"peek"}, {"read", "peek"}, {"update"}, {"peek", "update"})


@ruda.kernel
def steps(at, kind, memory, barrier, g, out):
    """In each step some threads go to an element of global or shared memory each; ``at`` is -1 for the others."""
    s = dsl.shared(ELEMENTS, dsl.i32)
    i = dsl.global_idx.x
    if dsl.thread_idx.x == 0:
        for e in range(ELEMENTS):
            s[e] = e
    dsl.barrier()
    sum = dsl.i32(0)
    for k in range(len(kind)):
        j = at[k, i]
        if j >= 0:
            if memory[k] == 0:
                if kind[k] == 0:
                    sum += g[j]
                elif kind[k] == 1:
                    g[j] = i * 100 + k + 1
                elif kind[k] == 2:
                    sum += dsl.atomic.add(g, j, 1)
                else:
                    sum += dsl.atomic.load(g, j)
            else:
                if kind[k] == 0:
                    sum += s[j]
                elif kind[k] == 1:
                    s[j] = i * 100 + k + 1
                elif kind[k] == 2:
                    dsl.atomic.add(s, j, 1)
                else:
                    sum += dsl.atomic.load(s, j)
        if barrier[k] != 0:
            dsl.barrier()
    out[i] = sum


class Program:
    """Random steps for a few threads."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.blocks, self.threads = rng.choice(((1, 3), (3, 1), (2, 4)))
        lanes, count = self.blocks * self.threads, rng.randrange(2, 7)
        self.kind = np.array([rng.choice((0, 0, 0, 1, 2, 3)) for _ in range(count)], "i4")
        self.memory = np.array([rng.randrange(2) for _ in range(count)], "i4")
        self.barrier = np.array([rng.random() < 0.3 for _ in range(count)], "i4")
        self.at = np.full((count, lanes), -1, "i4")
        for row in self.at:
            for lane in rng.sample(range(lanes), rng.choice((1, 1, 1, 2, 3))):
                row[lane] = rng.randrange(ELEMENTS)
        if seed % 2:  # many threads look at one element, and then one writes it
            self.kind[:], self.memory[:] = rng.choice((0, 2, 3)), rng.randrange(2)
            self.kind[-1] = 1
            self.at[self.at > 0] = 0
            self.at[-1, np.flatnonzero(self.at[-1] == 0)[1:]] = -1

    def races(self):
        """The memories with a race, by all pairs."""
        accesses = []
        epoch = 0
        for row, kind, memory, barrier in zip(self.at, self.kind, self.memory, self.barrier, strict=True):
            for lane, element in enumerate(row.tolist()):
                if element >= 0:
                    block = lane // self.threads
                    where = (memory, element, block if memory else None)
                    accesses.append((where, KINDS[kind], lane, block, epoch))
            epoch += barrier
        found = set()
        for (where, kind, lane, block, epoch), (other, *rest) in combinations(accesses, 2):
            ordered = lane == rest[1] or (block == rest[2] and epoch != rest[3])
            if where == other and not ordered and {kind, rest[0]} not in HARMLESS:
                found.add(("argument g", "shared array s")[where[0]])
        return found


@pytest.mark.parametrize("lanes", [1, 16_384], ids=["one block a batch", "all blocks in one batch"])
def test_random_accesses(sanitizing, lanes):
    """Exactly the memories that have a race are reported."""
    client, findings = sanitizing(batch_lanes=lanes)
    outcomes = set()
    for seed in range(1500):
        program = Program(seed)
        tables = [client.array(x) for x in (program.at, program.kind, program.memory, program.barrier)]
        steps[program.blocks, program.threads](
            *tables, client.zeros(ELEMENTS, "i4"), client.zeros(program.at.shape[1], "i4")
        )
        assert all(finding.kind == "race" for finding in findings)
        found = {finding.buffer for finding in findings}
        findings.drain()
        assert found == program.races(), f"seed {seed}: {vars(program)}"
        outcomes.add(frozenset(found))
    assert len(outcomes) == 4  # none, either, both


def test_the_fuzzers_kernels_are_clean(sanitizing):
    """They share no element without order but for writes of one value, and get the same results."""
    client, findings = sanitizing()
    for seed in range(1000, 1040):
        case = generate(seed)
        assert differ(case, client) == ""
        assert not findings.faults, f"{findings.faults[0].text}\n{case.source}"
