"""What is known of ``metadata.json`` before anything is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.spec.metadata import Metadata

if TYPE_CHECKING:
    from kernelmill.builder.plan import BuildPlan

BASE_MINVER = "0.14.0"
DEPENDENCIES_MINVER = "0.17.0"
"""The first release of ``kernels`` that loads kernels which depend on others."""


def draft_metadata(plan: BuildPlan) -> Metadata:
    """Return the metadata of ``plan``, without digest, provenance and build record."""
    general = plan.manifest.general
    return Metadata(
        name=str(general.name),
        id=plan.ops_name,
        version=general.version,
        kernels_minver=DEPENDENCIES_MINVER if general.kernel_depends else BASE_MINVER,
        license=general.license,
        upstream=general.upstream,
        source=general.source,
        python_depends=general.python_depends,
        kernel_depends=general.kernel_depends,
        backend=plan.backend,
        archs=plan.archs,
    )
