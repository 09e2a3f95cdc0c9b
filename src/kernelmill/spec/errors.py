"""The root of every error kernelmill raises: what is wrong, where, and one thing to do."""

from __future__ import annotations

from typing import ClassVar


class KernelError(Exception):
    """An error a user can act on.

    ``problem`` is one lower-case line with the value quoted; ``where`` is a place such as
    ``build.toml:14 kernel.gemm.src[0]``; ``hint`` is one thing to do.
    """

    exit_code: ClassVar[int] = 5
    """1 findings, 2 user input, 3 toolchain or host, 4 Hub or network, 5 internal."""

    def __init__(self, problem: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.problem}" if self.where else self.problem
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class InputError(KernelError, ValueError):
    """Something the user wrote cannot be used."""

    exit_code = 2


class InvalidName(InputError):
    """A kernel or repository name breaks the rules."""


class InvalidVersion(InputError):
    """A version string cannot be read."""


class InvalidVariant(InputError):
    """A build variant's name cannot be read."""


class InvalidBackend(InputError):
    """A backend's name is unknown, or this machine does not have that backend."""


class ManifestError(InputError):
    """``build.toml`` is wrong. ``faults`` lists every mistake found, in file order."""

    def __init__(
        self, problem: str, *, where: str = "", hint: str = "", faults: tuple[KernelError, ...] = ()
    ) -> None:
        super().__init__(problem, where=where, hint=hint)
        self.faults = faults

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults)) if self.faults else super().__str__()


class MetadataError(InputError):
    """``metadata.json`` is wrong."""


class LockfileError(InputError):
    """``kernels.lock`` is wrong."""


class StatusError(InputError):
    """``kernel-status.toml`` is wrong."""


class SignatureError(InputError):
    """A signature file or a key is not one."""


class CacheEntryError(InputError):
    """What describes an entry of a binary cache is wrong."""


class PublicationError(InputError):
    """What is to be uploaded is not a publishable kernel."""


class HostError(KernelError):
    """This machine lacks something, or has the wrong thing."""

    exit_code = 3


class HubError(KernelError):
    """A Hub refused, failed, or cannot be reached."""

    exit_code = 4


class NoVariant(KernelError, FileNotFoundError):
    """No build in a kernel repository fits this machine."""

    exit_code = 1


class DigestMismatch(KernelError):
    """A kernel's files are not the ones its metadata describes."""

    exit_code = 1
