"""A vectoriser of straight-line code made loads of nine lanes, and the code generator took the wrong ones."""

from math import inf, nan

from ruda.conformance.fuzz.emulate import ArrayArgument, Case

CASE = Case(
    seed=2019487,
    source="@dsl.func\n"
    "def f0(x0, x1: dsl.f64):\n"
    "    r0 = min(dsl.u64(x0), dsl.u64(2), dsl.u64(x0))\n"
    "    for k0 in range(1):\n"
    "        r0 = ((-r0) & r0)\n"
    "        if (dsl.u32(r0) <= dsl.u32(2) >= dsl.u32(1) == dsl.u32(0) > 0):\n"
    "            continue\n"
    "    return (r0 ^ (r0 - r0))\n"
    "\n"
    "@dsl.func\n"
    "def put(array, at, x: dsl.f64):\n"
    "    for k in range(3):\n"
    "        if (at >= at):\n"
    "            return\n"
    "        array[at] -= abs((dsl.i64(9223372036854775807) / dsl.i64(5)))\n"
    "    array[at] = x\n"
    "\n"
    "@kernel\n"
    "def kernel(a0: dsl.Array[dsl.u64], a1: dsl.Array[dsl.u32], a2: dsl.Array[dsl.f32], out0: "
    "dsl.Array[dsl.u32], out1: dsl.Array[dsl.f64], c0: dsl.Array[dsl.i32], c1: dsl.Array[dsl.i32], "
    "n: dsl.i32, m: dsl.u32, q: dsl.i64):\n"
    "    t = dsl.thread_idx.x\n"
    "    g = dsl.global_idx.x\n"
    "    s0 = dsl.shared(6, dsl.i64)\n"
    "    for z0 in range(6):\n"
    "        s0[z0] = z0 * 3\n"
    "    s1 = dsl.shared(6, dsl.i64)\n"
    "    for z1 in range(6):\n"
    "        s1[z1] = z1 * 3\n"
    "    dsl.barrier()\n"
    "    v1 = n\n"
    "    v2 = (dsl.u64(m) - 100)\n"
    "    v3 = (v2 // 18446744073709551615)\n"
    "    v4 = (dsl.i64(v1) if (n >= dsl.i32(t)) else q)\n"
    "    b5 = (g >= g)\n"
    "    s1[t] = ((-dsl.i64(t)) // v4)\n"
    "    dsl.barrier()\n"
    "    v6 = s1[t + 1]\n"
    "    v7 = s1[(~dsl.u64(3))]\n"
    "    out1[g * 4 + (t + t) % 4] = abs(dsl.f64(v2))\n"
    "    s0[t] = q\n"
    "    dsl.barrier()\n"
    "    v8 = s0[t + 1]\n"
    "    v9 = ((dsl.i32(v7) if b5 else v6) | 7)\n"
    "    v10 = abs((m / m))\n"
    "    for i11 in range(v8 % 3, 4, 2):\n"
    "        put(out1, g * 4 + (dsl.global_idx.x - 7) % 4, ((7 // v2) / dsl.u64(i11)))\n"
    "    out1[g * 4 + g % 4] = max(dsl.i32(v3), int(m))\n"
    "    v7 = (~(m & (i11 << 0)))\n"
    "    out1[g * 4 + (-2147483648 % dsl.block_idx.x) % 4] = min((dsl.i32(i11) if (dsl.global_idx.x "
    "<= g) else 2147483647), abs(n))\n"
    "    v3 = ((v3 // (~v3)) << (m // t))\n"
    "    b5 &= ((dsl.f32(v3) > v10 == dsl.f32(-0.0)) or b5)\n"
    "    dsl.barrier()\n"
    "    v12 = s1[t ^ 1]\n"
    "    v13 = dsl.i64((v2 if (v6 >= v7 != s1[2] <= v4) else v3))\n"
    "    dsl.barrier()\n"
    "    for i14 in range((v7 * v12) % 4):\n"
    "        for i15 in range((v1 | dsl.i32(-2)) % 5, -2, -2):\n"
    "            w16 = dsl.i32(1)\n"
    "            while w16 < 3:\n"
    "                w16 += 1\n"
    "                v10, v6 = (m / m), (v13 * v6)\n"
    "                if ((n != i15 < dsl.i32(v9) > dsl.i32(-1)) and (dsl.block_idx.x <= g)):\n"
    "                    continue\n"
    "            out1[g * 4 + (t >> dsl.u64(g)) % 4] = (~(3 & dsl.i32(31)))\n",
    types={
        "f0": {"x0": "f64", "x1": "f64", "r0": "u64"},
        "put": {"at": "index", "x": "f64"},
        "kernel": {
            "t": "index",
            "g": "index",
            "v1": "i32",
            "v2": "u64",
            "v3": "u64",
            "v4": "i64",
            "b5": "bool",
            "v6": "i64",
            "v7": "i64",
            "v8": "i64",
            "v9": "i64",
            "v10": "f32",
            "i11": "i64",
            "v12": "i64",
            "v13": "i64",
            "i14": "i64",
            "i15": "i32",
            "w16": "i32",
        },
    },
    arrays=(
        ArrayArgument(name="a0", dtype="u64", values=(0, 5312428528406161439)),
        ArrayArgument(name="a1", dtype="u32", values=(4294967295, 7, 1258853984, 4294967292)),
        ArrayArgument(name="a2", dtype="f32", values=(inf, 0.10000000149011612)),
        ArrayArgument(
            name="out0",
            dtype="u32",
            values=(
                0,
                4294967295,
                0,
                4294967295,
                4294967295,
                0,
                2229620462,
                4294967290,
                0,
                4294967291,
                4294967295,
                3858728536,
                4294967295,
                1,
                4294967295,
                2,
            ),
        ),
        ArrayArgument(
            name="out1",
            dtype="f64",
            values=(nan, 7.0, 7.0, 0.1, 0.1, nan, 0.0, 0.0, nan, 10000000000.0, inf, inf, inf, 7.0, -2.25, 1.5),
        ),
        ArrayArgument(name="c0", dtype="i32", values=(-1, 2, 5, -2147483648, -6)),
        ArrayArgument(name="c1", dtype="i32", values=(2147483647, -12012048, 2147483647, 8, 2147483647)),
    ),
    scalars=(("n", "i32", 4), ("m", "u32", 7), ("q", "i64", -2)),
    grid=1,
    block=4,
)
