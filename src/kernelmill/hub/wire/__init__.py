"""The protocol: requests become values, values become replies. Pure; touches no disk or SQL."""
