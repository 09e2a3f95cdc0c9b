"""The Python packaging of a generated project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.render.metadata import backend_general
from kernelmill.builder.render.template import render_template
from kernelmill.builder.sources import package_folder
from kernelmill.spec.dependencies import PYTHON_DEPENDENCIES

if TYPE_CHECKING:
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.spec.manifest import Manifest


def setup_script(plan: BuildPlan) -> str:
    """Return ``setup.py``: ``build_kernel`` makes the variant, ``build_ext`` the extension."""
    return render_template("project/setup.py.j2", {"plan": plan})


def pyproject(plan: BuildPlan) -> str:
    """Return ``pyproject.toml``."""
    manifest, framework = plan.manifest, _framework_requirement(plan)
    name = framework.partition("=")[0]
    others = [it for it in dependencies_of(manifest) if it != name]
    values: dict[str, object] = {
        "plan": plan,
        "framework": framework,
        "packages": package_folder(manifest).partition("/")[0],
        "dependencies": (framework, *others),
        "extras": optional_dependencies_of(manifest),
        "globs": [f"**/*.{suffix}" for suffix in manifest.framework.pyext],
    }
    return render_template("project/pyproject.toml.j2", values)


def _framework_requirement(plan: BuildPlan) -> str:
    """Return the distribution that the extension is compiled against, in its exact series."""
    framework = plan.variant.framework
    if framework.kind == "tvm-ffi":
        return f"apache-tvm-ffi=={framework.version[0]}.{framework.version[1]}.*"
    return f"torch=={plan.framework_version[0]}.{plan.framework_version[1]}.*"


def dependencies_of(manifest: Manifest) -> tuple[str, ...]:
    """Return the distributions that the kernel needs on every backend."""
    return tuple(_package(name) for name in manifest.general.python_depends)


def optional_dependencies_of(manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Return backend -> the distributions that it needs besides."""
    found = {it: backend_general(manifest.general, it) for it in manifest.general.backends}
    return {
        str(backend): tuple(map(_package, own.python_depends))
        for backend, own in found.items()
        if own and own.python_depends
    }


def _package(name: str) -> str:
    return next((it.package for it in PYTHON_DEPENDENCIES if it.name == name), name)
