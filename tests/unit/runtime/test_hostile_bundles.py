"""``KERNELS_BUNDLE`` may hold anything."""

from __future__ import annotations

import pytest

from kernelmill.runtime.bundles import VARIABLE, find_bundled
from kernelmill.spec.errors import InputError
from kernelmill.spec.names import RepoId


@pytest.mark.parametrize("value", ["x" * 5000, "/" + "x" * 300, "/dev/null", "~nobody-is-so"])
def test_what_is_no_folder_holds_no_bundle(value: str) -> None:
    with pytest.raises(InputError, match="KERNELS_BUNDLE: there is no bundle in"):
        find_bundled(RepoId.parse("acme/toy"), environ={VARIABLE: value})
