"""Comparisons (IEEE on floats) and selection."""

from __future__ import annotations

import numpy as np

from ruda.ir.ops.table import ANY, BOOL, FLOAT, NUMBER, row

SECTION = "compare"

row("eq", SECTION, 2, NUMBER | BOOL, np.equal, "a == b; false with NaN", "bool")
row("ne", SECTION, 2, NUMBER | BOOL, np.not_equal, "a != b; true with NaN", "bool")
row("lt", SECTION, 2, NUMBER, np.less, "a < b; false with NaN", "bool")
row("le", SECTION, 2, NUMBER, np.less_equal, "a <= b; false with NaN", "bool")
row("gt", SECTION, 2, NUMBER, np.greater, "a > b; false with NaN", "bool")
row("ge", SECTION, 2, NUMBER, np.greater_equal, "a >= b; false with NaN", "bool")
row("isnan", SECTION, 1, FLOAT, np.isnan, "whether a is NaN", "bool", python=("math.isnan", "numpy.isnan"), dsl="isnan")
row("isinf", SECTION, 1, FLOAT, np.isinf, "whether a is infinite", "bool", python=("math.isinf", "numpy.isinf"), dsl="isinf")
row("isfinite", SECTION, 1, FLOAT, np.isfinite, "neither NaN nor infinite", "bool", python=("math.isfinite", "numpy.isfinite"), dsl="isfinite")
row("select", SECTION, 3, ANY, np.where, "a if the condition holds, else b; both are evaluated", condition=True, dsl="select")
