"""The conformance kit: what a driver must pass.

Run it with ``pytest -p ruda.conformance.plugin --pyargs ruda.conformance --driver NAME``.
Its parts: ``values`` makes operands, ``oracle`` judges results, ``harness`` turns kernel text into
launches with guarded outputs, the ``test_*`` modules are the themes, and ``fuzz`` makes random kernels.
"""
