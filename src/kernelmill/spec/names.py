"""Names of kernels and of the repositories that hold them."""

from __future__ import annotations

import re
from typing import Final

from kernelmill.spec.errors import InvalidName
from kernelmill.spec.reader import shown
from kernelmill.spec.values import dataclass

_KERNEL_NAME: Final = re.compile(r"[a-z][-a-z0-9]*[a-z0-9]")
_REPO_PART: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")
_REPO_ID_LENGTH: Final = 96  # the Hub's limit on the whole "namespace/name"
_MAX_SHOWN: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoId:
    """A repository on a Hub, such as ``kernels-community/gemm``."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> RepoId:
        """Read ``namespace/name``; raise ``InvalidName`` for anything else."""
        hint = "write it as owner/name, such as kernels-community/gemm"
        # Callers pass what a configuration file gave them.
        if not isinstance(text, str) or len(text) > _MAX_SHOWN:
            raise InvalidName(f"{shown(text)} is not a repository id", where=where, hint=hint)
        namespace, slash, name = text.partition("/")
        if not slash or not all(map(_REPO_PART.fullmatch, (namespace, name))):
            raise InvalidName(f"{text!r} is not a repository id", where=where, hint=hint)
        if "--" in text or ".." in text or name.endswith(".git"):
            problem = f"repository id {text!r} holds '--' or '..', or ends in '.git'"
            raise InvalidName(problem, where=where, hint="a Hub refuses such names; choose another")
        if len(text) > _REPO_ID_LENGTH:
            problem = f"repository id {text!r} has {len(text)} characters"
            raise InvalidName(problem, where=where, hint=f"use at most {_REPO_ID_LENGTH}")
        return cls(namespace=namespace, name=name)

    @classmethod
    def is_valid(cls, text: str) -> bool:
        """Tell whether ``text`` is a repository id."""
        try:
            cls.parse(text)
        except InvalidName:
            return False
        return True

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelName:
    """A kernel's own name: lower-case words and digits joined by single dashes."""

    value: str

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> KernelName:
        """Read a kernel name; raise ``InvalidName`` with the rules when it breaks them."""
        if not cls.is_valid(text):
            raise InvalidName(
                f"invalid kernel name {text!r}",
                where=where,
                hint="start with a-z, use only a-z, 0-9 and single dashes, end with a letter or "
                "digit, at least two characters: my-kernel, relu2d, flash-attention",
            )
        return cls(value=text)

    @staticmethod
    def is_valid(text: str) -> bool:
        """Tell whether ``text`` is a kernel name."""
        return bool(_KERNEL_NAME.fullmatch(text)) and "--" not in text

    @property
    def python_name(self) -> str:
        """The name of the Python module: dashes become underscores."""
        return self.value.replace("-", "_")

    def __str__(self) -> str:
        return self.value
