"""``python -m kernelmill.runtime``: the ``kernels`` command."""

import sys

from kernelmill.runtime.cli import main

sys.exit(main())
