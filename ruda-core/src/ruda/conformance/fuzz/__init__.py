"""Random kernels, run by Python itself thread by thread and by each driver, compared bit for bit.

``numbers`` has the language's numbers as Python objects, and ``emulate`` runs a kernel's source with them.
``generate`` makes structured kernels (with ``terms``, ``functions`` and ``writer``), ``expressions`` typed trees.
``check`` compares and minimises, ``cases`` keeps every kernel that ever failed.
``python -m ruda.conformance.fuzz`` runs long ones.
"""
