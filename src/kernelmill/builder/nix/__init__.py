"""Nix as a runner: SDKs in its store, under the paths that ``flake.nix`` names."""
