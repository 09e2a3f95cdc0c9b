"""Values, file formats and pure rules: no torch, network, environment or disk."""
