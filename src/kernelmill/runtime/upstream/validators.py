"""What a build asks of this machine, as the original's ``kernels.validate`` checks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kernelmill.runtime import probe, requirements
from kernelmill.runtime.settings import API_VERSION

if TYPE_CHECKING:
    from kernelmill.runtime.upstream.metadata import Metadata


class MetadataValidator(Protocol):
    """One thing that a build may ask for."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        """Raise unless it is here."""


class DependencyValidator:
    """The Python packages."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:  # noqa: ARG002
        """Raise an ``ImportError`` when one is not installed."""
        for name in metadata.python_depends:
            requirements.ensure_python_package(name, metadata.name.python_name)


class ArchValidator:
    """The devices."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        """Raise a ``RuntimeError`` when the build has no machine code for one of them."""
        wants = metadata.to_spec()
        if wants.archs:
            requirements.ensure_arch(wants, probe.probe_devices(wants.backend), variant=variant)


class DirtyValidator:
    """Sources that were committed."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        """Warn in the log when they were not."""
        requirements.warn_of_dirty_sources(metadata.to_spec(), variant=variant)


class MinverValidator:
    """The version of the ``kernels`` interface."""

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        """Raise a ``RuntimeError`` when ours is too old."""
        requirements.ensure_interface(metadata.to_spec(), API_VERSION, variant=variant)


@dataclass
class AllValidator:
    """All of several."""

    validators: list[MetadataValidator]

    def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
        """Ask one after the other."""
        for each in self.validators:
            each.validate_metadata(metadata=metadata, variant=variant)


def default_metadata_validators() -> list[MetadataValidator]:
    """Return those that every loading asks; ``get_kernel`` also asks ``ArchValidator``."""
    return [DependencyValidator(), MinverValidator(), DirtyValidator()]
