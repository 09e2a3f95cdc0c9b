"""Execute gfx942 machine code on the CPU, and find faults that hardware would not report."""
