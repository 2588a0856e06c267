"""IR to IR, a file a pass; :mod:`ruda.passes.pipeline` puts them in order."""
