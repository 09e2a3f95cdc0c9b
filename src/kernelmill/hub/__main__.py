"""Run ``kernel-hub`` as ``python -m kernelmill.hub``."""

import sys

from kernelmill.hub.cli import main

sys.exit(main())
