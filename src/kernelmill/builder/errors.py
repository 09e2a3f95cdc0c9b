"""What can go wrong while a kernel is built."""

from __future__ import annotations

from kernelmill.spec.errors import HostError, HubError, InputError, KernelError


def install_hint(extra: str) -> str:
    """Return how to install what an optional part of kernelmill needs."""
    return f'pip install ".[{extra}]" in a clone of kernelmill'


class SourceError(InputError):
    """A kernel repository lacks a file, or names one that it must not."""


class PlanError(InputError):
    """What is asked for cannot be built from this kernel."""


class FilesExist(InputError, FileExistsError):
    """Generated files would overwrite existing ones."""


class ToolchainError(HostError):
    """This machine lacks a tool, or has one that cannot do what is asked."""


class SdkError(HostError):
    """An SDK is missing or damaged, or cannot be made from what was found."""


class SdkMissing(SdkError):
    """An SDK is not in the store. ``name`` is what to fetch."""

    def __init__(self, problem: str, *, where: str = "", hint: str = "", name: str = "") -> None:
        super().__init__(problem, where=where, hint=hint)
        self.name = name


class CacheError(HubError):
    """A binary cache refused, failed, or cannot be reached."""


class EntryRefused(CacheError):
    """An entry of a binary cache is not what it says it is, or nobody who is trusted says so."""

    exit_code = 1


class CompileError(KernelError):
    """The compiler or the linker refused the kernel's sources."""

    exit_code = 1


class BuildKilled(HostError):
    """A compiler was killed by the system."""


class SigningError(InputError):
    """A key cannot sign, or a build is not fit to be signed."""


class CheckError(KernelError):
    """A binary is not what was asked for."""

    exit_code = 1


class ReproductionError(InputError):
    """A build cannot be made again: what it was made of is not known, or not here."""


class TrialError(HostError):
    """A kernel's tests could not be run to their end."""
