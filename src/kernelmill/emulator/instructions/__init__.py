"""The instruction set of gfx942: each module holds tables from mnemonic to meaning."""
