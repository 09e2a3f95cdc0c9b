"""Kernels that depend on kernels (L5): planned first, isolated, loaded in order."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, write_files

from kernelmill.runtime import api, session
from kernelmill.runtime.errors import (
    HubUnreachable,
    MissingDependency,
    NotADependency,
    NotTrusted,
    RepositoryNotFound,
    Unresolved,
    UnsupportedArch,
    VersionNotFound,
)
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import NoVariant
from kernelmill.spec.host import Device
from kernelmill.spec.metadata import KernelDependency
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.spec.host import Host

OLD = "torch28-cxx11-cpu-x86_64-linux"
HEAD = "from kernelmill.runtime.api import get_kernel_dep\n"


def need(repo: str, version: int | None = 1, revision: str | None = None) -> KernelDependency:
    return KernelDependency(repo_id=RepoId.parse(repo), version=version, revision=revision)


def user_of(*wanted: KernelDependency, value: str = "'top'", name: str = "toy") -> dict[str, bytes]:
    """Return a kernel that loads what it depends on: its VALUE, then theirs."""
    modules = ", ".join(f"get_kernel_dep({str(it.repo_id)!r})" for it in wanted)
    source = f"{HEAD}DEPS = [{modules}]\nVALUE = [{value}, *(it.VALUE for it in DEPS)]\n"
    return kernel_files(name, sources={"__init__.py": source}, kernel_depends=wanted)


def publish(hub: MemoryHub, repo: str, build: dict[str, bytes], version: int = 1) -> None:
    hub.publish(repo, f"v{version}", {"torch-cpu": build})


def downloads(hub: MemoryHub) -> list[str]:
    return [call.removeprefix("download build/torch-cpu/") for call in hub.calls if "down" in call]


@pytest.fixture
def pair(process_session: MemoryHub) -> MemoryHub:
    """``acme/top`` 1 depends on ``acme/low`` 1; there also is ``acme/low`` 2."""
    publish(process_session, "acme/low", kernel_files(value="low"))
    publish(process_session, "acme/low", kernel_files(value="newer"), 2)
    publish(process_session, "acme/top", user_of(need("acme/low")))
    return process_session


def test_dependency_is_loaded_before_the_kernel_that_asks_for_it(pair: MemoryHub) -> None:
    module = api.get_kernel("acme/top", version=1)
    assert module.VALUE == ["top", "low"]
    assert [it.repo_info.repo_id for it in api.get_loaded_kernels() if it.repo_info] == [
        "acme/low",
        "acme/top",
    ]
    assert api.get_kernel("acme/low", version=1) is module.DEPS[0]


def test_every_metadata_is_read_before_any_other_file_is_fetched(pair: MemoryHub) -> None:
    api.get_kernel("acme/top", version=1)
    assert downloads(pair) == ["metadata.json"] * 2 + ["__init__.py"] * 2


def test_two_versions_of_a_dependency_are_isolated(pair: MemoryHub) -> None:
    publish(pair, "acme/other", user_of(need("acme/low", 2), value="'other'"))
    publish(pair, "acme/both", user_of(need("acme/top"), need("acme/other"), value="'both'"))
    assert api.get_kernel("acme/both", version=1).VALUE == [
        "both",
        ["top", "low"],
        ["other", "newer"],
    ]


def test_shared_dependency_is_resolved_and_loaded_once(pair: MemoryHub) -> None:
    publish(pair, "acme/side", user_of(need("acme/low"), value="'side'"))
    publish(pair, "acme/both", user_of(need("acme/top"), need("acme/side"), value="'both'"))
    module = api.get_kernel("acme/both", version=1)
    assert module.DEPS[0].DEPS[0] is module.DEPS[1].DEPS[0]
    assert pair.calls.count("trust") == 4
    assert downloads(pair).count("metadata.json") == 4


def test_dependency_may_be_a_revision(pair: MemoryHub) -> None:
    commit = pair.repos["acme/low"].branches["v2"]
    publish(pair, "acme/pinned", user_of(need("acme/low", None, commit)))
    assert api.get_kernel("acme/pinned", version=1).VALUE == ["top", "newer"]


def test_cycle_is_refused_before_anything_runs(pair: MemoryHub) -> None:
    publish(pair, "acme/low", user_of(need("acme/top")))
    with pytest.raises(ValueError, match="Cyclic kernel dependency detected: acme/top") as caught:
        api.get_kernel("acme/top", version=1)
    assert isinstance(caught.value, Unresolved)
    assert caught.value.where == (
        "acme/top (version: 1) -> acme/low (version: 1) -> acme/top (version: 1)"
    )
    assert set(downloads(pair)) == {"metadata.json"}
    with pytest.raises(Unresolved, match="Cyclic kernel dependency"):
        api.has_kernel("acme/top", version=1)


def test_cycle_through_a_local_kernel_is_refused(pair: MemoryHub, tmp_path: Path) -> None:
    publish(pair, "acme/low", user_of(need("acme/top")))
    write_files(tmp_path / "torch-cpu", user_of(need("acme/low")))
    with pytest.raises(Unresolved, match="Cyclic kernel dependency detected: acme/low"):
        api.get_local_kernel(tmp_path)


@pytest.mark.parametrize(
    ("wanted", "error", "problem"),
    [
        pytest.param(
            need("acme/none"),
            Unresolved,
            r"Could not resolve kernel: acme/none \(version: 1\)\n  hint: there is no kernel repo",
            id="repository",
        ),
        pytest.param(
            need("acme/none", None, "main"),
            Unresolved,
            r"Could not resolve kernel: acme/none \(revision: main\)",
            id="repository-by-revision",
        ),
        pytest.param(
            need("acme/low", 7),
            VersionNotFound,
            "Version 7 not found, available versions: 1, 2",
            id="version",
        ),
    ],
)
def test_missing_dependency_is_named_before_anything_is_fetched(
    pair: MemoryHub, wanted: KernelDependency, error: type[Exception], problem: str
) -> None:
    publish(pair, "acme/broken", user_of(wanted))
    with pytest.raises(error, match=problem) as caught:
        api.get_kernel("acme/broken", version=1)
    assert caught.value.__notes__ == ["needed by acme/broken (revision: v1)"]
    assert downloads(pair) == ["metadata.json"]


def test_missing_repository_keeps_its_own_error_when_the_caller_named_it(pair: MemoryHub) -> None:
    with pytest.raises(RepositoryNotFound, match="there is no kernel repository 'acme/none'"):
        api.get_kernel("acme/none", version=1)


def test_dependency_that_does_not_fit_makes_the_kernel_unfit(pair: MemoryHub) -> None:
    pair.publish("acme/old", "v1", {OLD: kernel_files()})
    publish(pair, "acme/broken", user_of(need("acme/old")))
    assert api.has_kernel("acme/broken", version=1) is False
    with pytest.raises(NoVariant, match=r"in acme/old \(revision: v1\)"):
        api.get_kernel("acme/broken", version=1)


def test_architecture_of_a_dependency_counts(
    pair: MemoryHub, monkeypatch: pytest.MonkeyPatch, host: Host
) -> None:
    rocm = replace(host, backend=Backend.ROCM, backend_version=(7, 1))
    monkeypatch.setattr(session, "probe_host", lambda: rocm)
    monkeypatch.setattr(session, "probe_devices", lambda _: (Device(arch="gfx1100"),))
    low = kernel_files(backend=Backend.ROCM, archs=("gfx942",))
    pair.publish("acme/low", "v1", {"torch-rocm": low})
    pair.publish("acme/top", "v1", {"torch-universal": user_of(need("acme/low"))})
    with pytest.raises(UnsupportedArch, match=r"no code for device 0 \(gfx1100\)"):
        api.get_kernel("acme/top", version=1)
    assert api.has_kernel("acme/top", version=1) is False
    assert api.get_kernel("acme/top", version=1, check_arch=False).VALUE == ["top", 1]


def test_python_package_of_a_dependency_counts(pair: MemoryHub) -> None:
    publish(pair, "acme/low", kernel_files(python_depends=("helion",)))
    with pytest.raises(MissingDependency, match=r"Python dependency `helion`\. Please install w"):
        api.get_kernel("acme/top", version=1)
    assert api.has_kernel("acme/top", version=1) is False
    assert api.install_kernel("acme/top", version=1).name == "torch-cpu"


def test_dependency_has_to_be_trusted_before_anything_runs(pair: MemoryHub) -> None:
    publish(pair, "stranger/low", kernel_files(value="strange"))
    publish(pair, "acme/bold", user_of(need("stranger/low")))
    with pytest.raises(NotTrusted, match="'stranger/low' is not from a trusted publisher") as it:
        api.get_kernel("acme/bold", version=1)
    assert it.value.__notes__ == ["needed by acme/bold (revision: v1)"]
    assert downloads(pair) == ["metadata.json"], "nothing of the stranger's was fetched"
    allowed = api.get_kernel("acme/bold", version=1, trust_remote_code=["stranger/low"])
    assert allowed.VALUE == ["top", "strange"]


def test_override_takes_the_place_of_a_dependency(
    pair: MemoryHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_files(tmp_path / "build/torch-cpu", kernel_files(value="local"))
    monkeypatch.setenv("LOCAL_KERNELS", f"acme/low={tmp_path}")
    assert api.get_kernel("acme/top", version=1).VALUE == ["top", "local"]
    assert pair.calls.count("trust") == 1


def test_local_kernel_gets_its_dependencies_from_the_hub(pair: MemoryHub, tmp_path: Path) -> None:
    write_files(tmp_path / "build/torch-cpu", user_of(need("acme/low"), value="'local'"))
    assert api.get_local_kernel(tmp_path).VALUE == ["local", "low"]
    write_files(tmp_path / "two/torch-cpu", user_of(need("stranger/low")))
    with pytest.raises(NotTrusted):
        api.get_local_kernel(tmp_path / "two")


def test_override_honours_the_backend(
    pair: MemoryHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: Host
) -> None:
    """R3."""
    metal = replace(host, backend=Backend.METAL, backend_version=None)
    monkeypatch.setattr(session, "probe_host", lambda: metal)
    write_files(tmp_path / "build/torch-cpu", kernel_files(value="cpu"))
    write_files(tmp_path / "build/torch-metal", kernel_files(value="gpu", backend=Backend.METAL))
    monkeypatch.setenv("LOCAL_KERNELS", f"acme/low={tmp_path}")
    assert api.get_kernel("acme/low", backend="cpu").VALUE == "cpu"
    assert api.get_kernel("acme/low").VALUE == "gpu"


def test_kernel_that_names_a_dependency_twice_is_refused(pair: MemoryHub) -> None:
    publish(pair, "acme/twice", user_of(need("acme/low"), need("acme/low", 2)))
    with pytest.raises(Unresolved, match="depends on 'acme/low' twice"):
        api.get_kernel("acme/twice", version=1)


def test_chain_without_an_end_is_refused(
    process_session: MemoryHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelmill.runtime.tree.MAX_KERNELS", 5)
    for number in range(9):
        publish(process_session, f"acme/k{number}", user_of(need(f"acme/k{number + 1}")))
    with pytest.raises(Unresolved, match=r"acme/k0 \(version: 1\): depends on more than 5 kernels"):
        api.get_kernel("acme/k0", version=1)


def test_get_kernel_dep_is_refused_outside_the_import_of_a_kernel(pair: MemoryHub) -> None:
    api.get_kernel("acme/top", version=1)
    with pytest.raises(RuntimeError, match=r"`get_kernel_dep` only works during kernel loading\."):
        api.get_kernel_dep("acme/low")


def test_get_kernel_dep_names_what_the_metadata_lacks(pair: MemoryHub) -> None:
    source = f"{HEAD}get_kernel_dep('acme/more')\n"
    build = kernel_files(sources={"__init__.py": source}, kernel_depends=(need("acme/low"),))
    publish(pair, "acme/broken", build)
    with pytest.raises(
        NotADependency,
        match=r"Dependency 'acme/more' not found in kernel dependencies. Ensure the dependency is "
        r"added to `kernel-deps` in build.toml.\n  hint: this kernel has acme/low",
    ):
        api.get_kernel("acme/broken", version=1)
    with pytest.raises(NotADependency, match="only works during kernel loading"):
        api.get_kernel_dep("acme/low")


def test_kernel_without_dependencies_has_none_of_its_users(pair: MemoryHub) -> None:
    """What a kernel may have is its own affair, also when it is loaded for another."""
    publish(pair, "acme/low", kernel_files(sources={"__init__.py": f"{HEAD}get_kernel_dep('x')\n"}))
    with pytest.raises(NotADependency, match="hint: this kernel has none"):
        api.get_kernel("acme/top", version=1)


def test_submodule_may_ask_while_the_kernel_is_imported(pair: MemoryHub) -> None:
    sources = {
        "__init__.py": "def late():\n    from . import part\n    return part\nVALUE = late().LOW\n",
        "part.py": f"{HEAD}LOW = get_kernel_dep('acme/low').VALUE\n",
    }
    publish(pair, "acme/parts", kernel_files(sources=sources, kernel_depends=(need("acme/low"),)))
    assert api.get_kernel("acme/parts", version=1).VALUE == "low"


def test_kernel_that_loads_another_gets_its_own_dependencies_back(pair: MemoryHub) -> None:
    source = (
        f"{HEAD}from kernelmill.runtime.api import get_kernel\n"
        "get_kernel('acme/plain', version=1)\nVALUE = get_kernel_dep('acme/low').VALUE\n"
    )
    publish(pair, "acme/plain", kernel_files(value="plain"))
    build = kernel_files(sources={"__init__.py": source}, kernel_depends=(need("acme/low"),))
    publish(pair, "acme/nested", build)
    assert api.get_kernel("acme/nested", version=1).VALUE == "low"


def test_failed_import_leaves_the_dependency_and_nothing_else(pair: MemoryHub) -> None:
    source = f"{HEAD}get_kernel_dep('acme/low')\nraise OSError('no luck')\n"
    build = kernel_files(sources={"__init__.py": source}, kernel_depends=(need("acme/low"),))
    publish(pair, "acme/broken", build)
    with pytest.raises(OSError, match="no luck"):
        api.get_kernel("acme/broken", version=1)
    assert [it.module.VALUE for it in api.get_loaded_kernels()] == ["low"]
    with pytest.raises(NotADependency):
        api.get_kernel_dep("acme/low")


def test_threads_whose_kernels_share_a_dependency_do_not_wait_for_each_other(
    pair: MemoryHub,
) -> None:
    slow = "import time\ntime.sleep(0.05)\nVALUE = 'slow'\n"
    publish(pair, "acme/low", kernel_files(sources={"__init__.py": slow}))
    publish(pair, "acme/side", user_of(need("acme/top"), need("acme/low"), value="'side'"))
    names = itertools.islice(itertools.cycle(["acme/top", "acme/side", "acme/low"]), 9)
    seen: list[object] = []
    threads = [
        threading.Thread(
            target=lambda name=name: seen.append(api.get_kernel(name, version=1)), daemon=True
        )
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert len(seen) == 9
    assert len({id(module) for module in seen}) == 3


def test_install_fetches_the_dependencies_and_imports_nothing(
    pair: MemoryHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOCAL_KERNELS", f"acme/top={tmp_path}:acme/low={tmp_path}")
    folder = api.install_kernel("acme/top", version=1)
    assert sorted(path.name for path in folder.iterdir()) == ["__init__.py", "metadata.json"]
    assert downloads(pair) == ["metadata.json"] * 2 + ["__init__.py"] * 2
    assert api.get_loaded_kernels() == []
    pair.is_down = True
    with pytest.raises(HubUnreachable):
        api.install_kernel("acme/top", version=2)


def test_install_of_all_variants_fetches_what_any_of_them_depends_on(pair: MemoryHub) -> None:
    builds = {"torch-cpu": kernel_files(), OLD: user_of(need("acme/low", 2))}
    pair.publish("acme/many", "v1", {**builds, "not a build": {"x": b""}})
    folder = api.install_kernel_all_variants("acme/many", version=1)
    assert sorted(path.name for path in folder.iterdir()) == sorted(["torch-cpu", OLD])
    assert folder.name == "build"
    assert downloads(pair)[:3].count("metadata.json") == 2
    assert (api.install_kernel("acme/low", version=2) / "__init__.py").is_file()
    with pytest.raises(NotTrusted):
        api.install_kernel_all_variants("stranger/many", version=1)


def test_install_of_all_variants_names_a_kernel_without_builds(pair: MemoryHub) -> None:
    pair.publish("acme/none", "v1", {})
    with pytest.raises(NoVariant, match="no build variants found"):
        api.install_kernel_all_variants("acme/none", version=1)


def test_cold_load_asks_four_questions_and_one_for_each_file(pair: MemoryHub) -> None:
    """The budget of a kernel; a dependency of the same publisher has one of its own."""
    api.get_kernel("acme/low", version=1)
    questions = ["trust", "refs", "folders", "files"]
    assert [call for call in pair.calls if "download" not in call] == questions
    assert sorted(downloads(pair)) == ["__init__.py", "metadata.json"]
