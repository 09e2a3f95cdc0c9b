"""Speed against named peers: ``python -m benchmarks``."""
