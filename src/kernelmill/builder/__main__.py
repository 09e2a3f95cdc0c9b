"""Run ``kernel-builder`` as ``python -m kernelmill.builder``."""

import sys

from kernelmill.builder.cli import main

sys.exit(main())
