"""Facts read from bytes: ELF, offload bundles, code objects, disassembly. Executes nothing."""
