"""A loop indexed with a variable that it assigns: a guard that holds at first need not hold in each round."""

from ruda.conformance.fuzz.emulate import ArrayArgument, Case

CASE = Case(
    seed=1007170,
    source="@dsl.func\n"
    "def f0(x0, x1, x2):\n"
    "    r0 = x2 * x2\n"
    "    return abs(r0)\n"
    "\n"
    "@dsl.func\n"
    "def f1(x0: dsl.u64, x1, x2):\n"
    "    return dsl.global_idx.x // dsl.u64(7) * dsl.global_idx.x\n"
    "\n"
    "@kernel\n"
    "def kernel(a0: dsl.Array[dsl.i64], a1: dsl.Array[dsl.u64], a2: dsl.Array[dsl.i32], out0: "
    "dsl.Array[dsl.i64], out1: dsl.Array[dsl.u32], c0: dsl.Array[dsl.u32], c1: dsl.Array[dsl.u32], "
    "n: dsl.i32, m: dsl.u32, q: dsl.i64):\n"
    "    t = dsl.thread_idx.x\n"
    "    g = dsl.global_idx.x\n"
    "    v1 = dsl.i64(10) / q\n"
    "    v2 = max(a1[g], dsl.u64(31))\n"
    "    v3 = dsl.f32(v2) - dsl.f32(3.0)\n"
    "    v4 = min(v2, v2)\n"
    "    b5 = not dsl.f64(v4) == v1 <= v1 != v1 > -1.5\n"
    "    w10 = dsl.i32(1)\n"
    "    while True:\n"
    "        if not w10 < 4:\n"
    "            break\n"
    "        w10 += 1\n"
    "        if 2 ^ m < dsl.u32(dsl.f64(b5)):\n"
    "            v8 = dsl.u32(dsl.f32(g) / dsl.f32(t))\n"
    "            w9 = dsl.i32(2)\n"
    "            while True:\n"
    "                if not w9 < 4:\n"
    "                    break\n"
    "                w9 += 1\n"
    "                v2 ^= 1\n"
    "            if v8 <= m >= 10:\n"
    "                out0[g * 4 + 2] += dsl.i64(w10)\n"
    "                return\n"
    "        elif (b5 or a1[8] > dsl.u64(2) != 2 or dsl.f32(0.0) < v3) ^ (b5 and a0[8] > "
    "dsl.i64(v1)):\n"
    "            if dsl.i32(v4) - dsl.thread_idx.x == g - dsl.thread_idx.x > max(t, t) >= 40071 ^ "
    "t:\n"
    "                v2 = ~f1(v2, m, dsl.i32(-2)) + ~v2\n"
    "                v1, v3 = (v1, abs(v3))\n"
    "            else:\n"
    "                v2, v1 = (v2 ** 3, v1)\n"
    "                b5 = not (b5 or a1[n] > v4 <= v4 >= dsl.u64(n))\n"
    "                dsl.atomic.or_(c1, 1, dsl.u32(v3) & dsl.u32(b5))\n"
    "            v4 = 7\n"
    "            if v1 < v1 or g >= g == dsl.global_idx.x <= 1 or b5:\n"
    "                out0[g * 4 + 2] += dsl.i64(m)\n"
    "                return\n"
    "            if dsl.u64(t) % 100 >= abs(v2) < (100 if q > a0[2] == a0[g] >= q else dsl.u64(g)) "
    "<= dsl.u64(4611686018427387904) + v2:\n"
    "                out0[g * 4 + t // -1 % 4] -= dsl.i64(-3) | a0[a0[v4]]\n"
    "            else:\n"
    "                v3 = abs(dsl.u32(v4) / (m | m))\n"
    "        else:\n"
    "            for i11 in range((g + dsl.block_idx.x) % 3, 4, 2):\n"
    "                out1[g * 4 + (t ^ g) % 4] = a1[-i11]\n"
    "                out1[g * 4 + (g & i11) % 4] = ~(dsl.u32(v4) + m)\n"
    "            else:\n"
    "                v1 += q / q - 1.0\n"
    "            v1 = -(f0(v4, n, dsl.f64(i11)) if not dsl.u32(w10) < dsl.u32(0) < 100 else v4 / "
    "v4)\n"
    "        if w10 <= 2 or a1[w10] > 13979:\n"
    "            break\n"
    "        v1 = dsl.f64(n) * f0(dsl.u64(n), n, v1) + int(dsl.u32(0))\n"
    "    out0[g * 4 + 2] += dsl.i64(w10)\n",
    types={
        "f0": {"x0": "u64", "x1": "i32", "x2": "f64", "r0": "f64"},
        "f1": {"x0": "u64", "x1": "u32", "x2": "i32", "r1": "u64"},
        "kernel": {
            "t": "index",
            "g": "index",
            "v1": "f64",
            "v2": "u64",
            "v3": "f32",
            "v4": "u64",
            "b5": "bool",
            "v6": "f64",
            "v7": "u32",
            "v8": "u32",
            "w9": "i32",
            "w10": "i32",
            "i11": "index",
        },
    },
    arrays=(
        ArrayArgument(
            name="a0", dtype="i64", values=(7, -9223372036854775808, -9223372036854775808, 9, 3106201350236874119)
        ),
        ArrayArgument(
            name="a1",
            dtype="u64",
            values=(
                0,
                0,
                5,
                0,
                18446744073709551615,
                8366903402843709767,
                18446744073709551608,
                18446744073709551615,
                9,
                18446744073709551615,
                0,
                0,
            ),
        ),
        ArrayArgument(
            name="a2", dtype="i32", values=(-2147483648, 905621220, -2147483648, -2147483648, -7, -1, -714802036)
        ),
        ArrayArgument(
            name="out0",
            dtype="i64",
            values=(
                -9223372036854775808,
                9223372036854775807,
                9223372036854775807,
                -9223372036854775808,
                -4,
                9223372036854775807,
                2444516294566530773,
                9223372036854775807,
                5,
                6638863116130327102,
                9223372036854775807,
                1,
                -8085549452982707790,
                0,
                -3155683862588741782,
                7245208419621532057,
                -7536217133467120249,
                -1,
                9223372036854775807,
                -9223372036854775808,
                9223372036854775807,
                -4,
                -4578916326464783334,
                9223372036854775807,
                -7852950539864625612,
                -5331383616384529954,
                -7738937408063823537,
                -9223372036854775808,
            ),
        ),
        ArrayArgument(
            name="out1",
            dtype="u32",
            values=(
                1742618835,
                4294967295,
                0,
                0,
                31278219,
                0,
                4294967295,
                2,
                4294967295,
                0,
                4294967295,
                4294967295,
                4294967295,
                8,
                0,
                0,
                0,
                4294967295,
                0,
                4294967295,
                0,
                4294967295,
                4294967295,
                2446492893,
                0,
                190506278,
                4294967295,
                1,
            ),
        ),
        ArrayArgument(name="c0", dtype="u32", values=(1, 4294967295, 0, 4294967295, 4294967295)),
        ArrayArgument(name="c1", dtype="u32", values=(4294967295, 4294967295, 1, 4294967295, 7)),
    ),
    scalars=(("n", "i32", 3), ("m", "u32", 1), ("q", "i64", -2)),
    grid=1,
    block=7,
)
