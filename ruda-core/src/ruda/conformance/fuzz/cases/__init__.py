"""Kernels that failed once, a module each with a ``CASE``; ``test_fuzz`` runs them all."""
