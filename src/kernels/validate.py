"""What builds ask of this machine."""

from kernelmill.runtime.upstream.validators import (
    AllValidator,
    ArchValidator,
    DependencyValidator,
    DirtyValidator,
    MetadataValidator,
    MinverValidator,
    default_metadata_validators,
)

__all__ = [
    "AllValidator",
    "ArchValidator",
    "DependencyValidator",
    "DirtyValidator",
    "MetadataValidator",
    "MinverValidator",
    "default_metadata_validators",
]
