"""``python -m kernelmill.emulator``."""

import sys

from kernelmill.emulator.cli import main

sys.exit(main())
