"""Finds, fetches, checks and loads kernels: ``api`` has the functions that programs call."""
