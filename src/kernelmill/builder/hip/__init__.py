"""Cross-compile HIP."""
