"""A C++ toolchain and a Python that run anywhere: the root folder of hermetic builds.

Made of Debian's packages. The tree is a whole small system with a merged ``/usr``, so that every
program in it finds its loader, its libraries and its headers where it was built to find them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.sdk.debs import open_deb, unpack_deb
from kernelmill.builder.sdk.pins import known_files, known_inputs
from kernelmill.builder.sdk.recipes import Made, Wanted
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KIND = "cxx"
SUMMARY = "GCC, glibc and Python: the root folder of hermetic builds, from Debian's packages"

VERSION: Final = "12.2.0"
_PLATFORM: Final = "x86_64-linux"
_TRIPLE: Final = "x86_64-linux-gnu"
_UNWANTED: Final = re.compile(
    r"usr/share/(?!doc/[^/]+/copyright$).*"
    rf"|usr/bin/{_TRIPLE}-(?:lto-dump|gcov|gprof)\S*|usr/bin/(?:gprofng|gp-)\S*"
    rf"|usr/lib/gcc/{_TRIPLE}/12/(?:cc1|g\+\+-mapper-server|lib(?:[alt]|hwa|ub)san\S*)"
    r"|usr/lib/python3\.11/(?:config-\S*|ensurepip|idlelib|lib2to3|pydoc_data|tkinter|turtledemo)/.*"
    rf"|usr/lib/{_TRIPLE}/(?:lib[cm](?:vec|-2\.36)?|libcrypt|libpython\S*|libgprofng\S*)\.a"
    rf"|usr/lib/{_TRIPLE}/(?:gconv|engines-3|ossl-modules|gprofng)/.*"
    r"|etc/.*|var/.*|usr/s?bin/(?:pyg?dbm|update-\S*)"
)
_LINKS: Final = {
    "bin": "usr/bin",
    "sbin": "usr/sbin",
    "lib": "usr/lib",
    "lib64": "usr/lib64",
    "usr/bin/c++": "g++-12",
    "usr/bin/g++": "g++-12",
    "usr/bin/cc": "gcc-12",
    "usr/bin/gcc": "gcc-12",
    "usr/bin/cpp": "cpp-12",
    "usr/bin/python3": "python3.11",
}
"""What packages' scripts would do, and the usual names of compilers."""
_MOUNT_POINTS: Final = ("build", "builder", "dev", "out", "proc", "run", "sdk", "src", "tmp")
_TEXTS: Final = {
    "etc/passwd": "root:x:0:0:root:/:/bin/sh\nbuild:x:1000:1000:build:/build:/bin/sh\n",
    "etc/group": "root:x:0:\nbuild:x:1000:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def wanted(version: str, platform: str) -> Sequence[Wanted]:
    """Return Debian's packages, each of one version."""
    if version != VERSION or platform != _PLATFORM:
        raise InputError(f"no {KIND}-{version} for {platform}", hint=f"there is {KIND}-{VERSION}")
    return [
        Wanted(
            name=it.name,
            version=it.version,
            known=known_files(KIND, VERSION, it.name),
            source="debian",
        )
        for it in known_inputs()[KIND][VERSION]
    ]


def make(
    files: Mapping[str, Path], _platform: str, tree: Path, note: Callable[[str], None]
) -> Made:
    """Unpack all packages into one tree, and add the places where builds mount things."""
    note(f"unpacking {len(files)} packages")
    tree.mkdir()
    for name in sorted(files):
        with open_deb(files[name]) as package:
            unpack_deb(package, tree, is_wanted=lambda path: not _UNWANTED.fullmatch(path))
    for folder in _MOUNT_POINTS:
        (tree / folder).mkdir()
    (tree / "usr/sbin").mkdir(exist_ok=True)
    for place, target in _LINKS.items():
        (tree / place).unlink(missing_ok=True)
        (tree / place).symlink_to(target)
    (tree / "etc").mkdir()
    for place, text in _TEXTS.items():
        (tree / place).write_text(text, encoding="utf-8", newline="\n")
        (tree / place).chmod(0o644)
    return Made(version=VERSION, facts={"python": "3.11", "glibc": "2.36"})
