"""The sanitizer: finds what a kernel does wrong while the reference executes it.

``findings`` is what it says, ``observe`` hooks into the statements of a kernel, ``watch`` is the state of one launch,
``shadow`` remembers who accessed each element, ``unset`` who assigned each variable, ``reports`` takes what the
reference notices by itself. Nothing of it is in the way of a program that was loaded without it.
"""
