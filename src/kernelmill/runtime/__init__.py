"""Find, fetch, check and load kernels."""
