"""A kernel's own tests, run against its built variants: which, where, and what came of it."""
