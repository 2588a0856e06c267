"""A driver to learn from: kernels as NumPy programs."""
