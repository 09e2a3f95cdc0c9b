"""A CPU-only PyTorch that sees one emulated AMD GPU as ``cuda:0``."""
