"""The original's resolvers, trees, validators and locks, over ours. Trust: test_gate.py."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, unload_kernels, write_files
from tests.unit.runtime.upstream_ways import API, first_version

from kernelmill.runtime import probe, session
from kernelmill.runtime.errors import NotLocked, NotTrusted
from kernelmill.runtime.hub.cached import CachedHub
from kernelmill.runtime.hub.remembered import RememberedHub
from kernelmill.runtime.load import get_loaded_kernels
from kernelmill.runtime.loaded import RepoInfo
from kernelmill.spec import status as status_format
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import LockfileError, NoVariant, StatusError
from kernelmill.spec.host import Device
from kernelmill.spec.metadata import KernelDependency as Need
from kernelmill.spec.metadata import Provenance, SourceState
from kernelmill.spec.names import RepoId
from kernels._rust import KernelDependency, KernelLock, KernelLocks, KernelVersion, Metadata
from kernels.deps import DepTreeNode, get_kernel_dep, resolve_kernel_tree, use_kernel_deps
from kernels.locking import (
    extract_dependency_locks,
    get_locked_kernel_revision,
    lock_kernel_tree,
)
from kernels.resolver import (
    HubCacheResolver,
    HubResolver,
    LocalKernel,
    LockedHubCacheResolver,
    LockedHubResolver,
    NoopResolver,
    RemoteKernel,
    RepoPathsResolver,
    SequentialResolver,
    resolve_local_kernel,
)
from kernels.status import KernelStatus, Redirect, resolve_status
from kernels.validate import (
    AllValidator,
    ArchValidator,
    DependencyValidator,
    DirtyValidator,
    MinverValidator,
)
from kernels.variants import get_variants, parse_variant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.settings import Settings

TOY, LOW = first_version("acme/toy"), first_version("acme/low")
NEEDS_LOW = (Need(repo_id=RepoId.parse("acme/low"), version=1),)
USER = (
    "from kernelmill.runtime.api import get_kernel_dep\n"
    "VALUE = 'toy', get_kernel_dep('acme/low').VALUE\n"
)


@pytest.fixture
def hub(hub: MemoryHub, monkeypatch: pytest.MonkeyPatch, host: object) -> MemoryHub:
    """A kernel and the one that it needs; ``is_offline`` means what it says."""

    def open_hub(settings: Settings, cache: Cache, *_: object) -> Hub:
        hub.calls.append(f"open {settings.endpoint}")
        if settings.is_offline:
            return CachedHub(endpoint=settings.endpoint, cache=cache)
        return RememberedHub(
            endpoint=settings.endpoint, cache=cache, connect=lambda: hub, max_age_s=0.0
        )

    monkeypatch.setattr(session, "open_hub", open_hub)
    monkeypatch.setattr(session, "probe_host", lambda: host)
    hub.publish("acme/low", "v1", {"torch-cpu": kernel_files("low", value="low")})
    build = kernel_files(sources={"__init__.py": USER}, kernel_depends=NEEDS_LOW)
    hub.publish("acme/toy", "v1", {"torch-cpu": build})
    return hub


def commit_of(hub: MemoryHub, repo: str) -> str:
    return hub.repos[repo].branches["v1"]


def test_tree_is_found_then_fetched_then_loaded(hub: MemoryHub) -> None:
    tree = resolve_kernel_tree(API, TOY, None, HubResolver(False))
    location = tree.location
    assert isinstance(location, RemoteKernel)
    assert (location.repo_id, location.revision) == ("acme/toy", commit_of(hub, "acme/toy"))
    assert (location.variant, location.variant_str) == (parse_variant("torch-cpu"), "torch-cpu")
    assert isinstance(location.metadata, Metadata)
    assert [*tree.deps] == ["acme/low"]
    assert not [it for it in hub.calls if "__init__" in it], "metadata alone"
    assert "open http://hub.test" in hub.calls, "the Hub of the HfApi"
    with pytest.raises(RuntimeError, match=r"Can only load installed kernels, run `install\(\)`"):
        tree.load()
    installed = tree.install(api=API)
    assert installed.location.origin == location
    assert installed.load().VALUE == ("toy", "low")
    infos = [it.repo_info for it in get_loaded_kernels()]
    assert infos == [
        RepoInfo("acme/low", commit_of(hub, "acme/low")),
        RepoInfo("acme/toy", commit_of(hub, "acme/toy")),
    ]


def test_cache_resolver_uses_no_network(hub: MemoryHub) -> None:
    resolver = HubCacheResolver(False)
    with pytest.raises(NotTrusted, match="the Hub is in offline mode, and is not known to have"):
        resolver.resolve(api=API, backend=None, kernel=TOY)
    with pytest.raises(FileNotFoundError):
        HubCacheResolver(True).resolve(
            api=API, backend=None, kernel=KernelDependency("acme/toy", KernelVersion.Revision("x"))
        )
    resolve_kernel_tree(API, TOY, None, HubResolver(False)).install(api=API).load()
    unload_kernels()
    hub.is_down = True
    tree = resolve_kernel_tree(API, TOY, None, resolver)
    assert isinstance(tree.location, LocalKernel)
    assert tree.location.variant_path.name == tree.location.variant_str == "torch-cpu"
    assert tree.install(api=API).load().VALUE == ("toy", "low")


@pytest.mark.parametrize("cls", [LockedHubResolver, LockedHubCacheResolver])
def test_locked_resolvers_take_the_locked_commit(
    hub: MemoryHub, cls: type[LockedHubResolver | LockedHubCacheResolver]
) -> None:
    """K1: the branches have moved on since."""
    locks = extract_dependency_locks([TOY], api=API)
    resolve_kernel_tree(API, TOY, None, HubResolver(False)).install(api=API)
    for repo in ("acme/toy", "acme/low"):
        hub.publish(repo, "v1", {"torch-cpu": kernel_files(value="moved on")})
    tree = resolve_kernel_tree(API, TOY, None, cls(locks, False))
    assert tree.install(api=API).load().VALUE == ("toy", "low")
    with pytest.raises(NotLocked, match="Kernel `acme/other` is not locked"):
        cls(locks, False).resolve(api=API, backend=None, kernel=first_version("acme/other"))


def test_folders_come_before_the_hub(hub: MemoryHub, tmp_path: Path) -> None:
    write_files(tmp_path / "build/torch-cpu", kernel_files("low", value="mine"))
    chain = SequentialResolver(
        [NoopResolver(), RepoPathsResolver({"acme/low": tmp_path}), HubResolver(False)]
    )
    tree = resolve_kernel_tree(API, TOY, "cpu", chain)
    local = tree.deps["acme/low"].location
    assert isinstance(local, LocalKernel)
    assert local.origin is None
    assert tree.install(api=API).load().VALUE == ("toy", "mine")


def test_local_kernel_needs_no_hub(hub: MemoryHub, tmp_path: Path) -> None:
    write_files(tmp_path / "build/torch-cpu", kernel_files("low", value="mine"))
    found = resolve_local_kernel(tmp_path, backend="cpu")
    assert found.variant_path == tmp_path / "build/torch-cpu"
    assert found.install(api=None) is found
    assert DepTreeNode(found, {}).load().VALUE == "mine"
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        resolve_local_kernel(tmp_path / "none", backend=None)
    with pytest.raises(ValueError, match="Invalid backend 'rocm', system supported backends: cpu"):
        resolve_local_kernel(tmp_path, backend="rocm")


def test_build_that_fits_nothing_is_said_so(hub: MemoryHub) -> None:
    hub.publish("acme/old", "v1", {"torch28-cxx11-cpu-x86_64-linux": kernel_files()})
    with pytest.raises(NoVariant, match=r"Cannot find a build variant for this system in acme/old"):
        HubResolver(False).resolve(api=API, backend=None, kernel=first_version("acme/old"))


def test_kernel_that_is_nowhere_or_needs_itself_is_refused(hub: MemoryHub) -> None:
    """L5."""
    with pytest.raises(ValueError, match=r"Could not resolve kernel: acme/toy \(version: 1\)"):
        resolve_kernel_tree(API, TOY, None, None)
    revision = KernelDependency("acme/toy", KernelVersion.Revision("main"))
    with pytest.raises(ValueError, match=r"resolve kernel: acme/toy \(revision: main\)"):
        resolve_kernel_tree(API, revision, None, NoopResolver())
    with pytest.raises(ValueError, match="Cyclic kernel dependency detected: acme/toy"):
        resolve_kernel_tree(API, TOY, None, HubResolver(False), {TOY})
    back = (Need(repo_id=RepoId.parse("acme/toy"), version=1),)
    hub.publish("acme/low", "v1", {"torch-cpu": kernel_files("low", kernel_depends=back)})
    with pytest.raises(ValueError, match="Cyclic kernel dependency detected: acme/toy"):
        resolve_kernel_tree(API, TOY, None, HubResolver(False))
    with pytest.raises(ValueError, match="Cyclic kernel dependency detected: acme/low version 1"):
        lock_kernel_tree(TOY, api=API)


def test_kernel_made_by_hand_is_asked_for_trust_when_it_is_fetched(hub: MemoryHub) -> None:
    """S3: a resolver passes on what its caller allowed; nobody else can have allowed anything."""
    hub.publish("stranger/toy", "v1", {"torch-cpu": kernel_files(value="evil")})
    found = HubResolver(["stranger/toy"]).resolve(
        api=API, backend=None, kernel=first_version("stranger/toy")
    )
    by_hand = RemoteKernel(found.repo_id, found.revision, found.metadata, found.variant)
    assert by_hand == found
    with pytest.raises(NotTrusted, match="'stranger/toy' is not from a trusted publisher"):
        DepTreeNode(by_hand, {}).install(api=API)
    assert not [it for it in hub.calls if "__init__" in it]
    assert DepTreeNode(found, {}).install(api=API).load().VALUE == "evil"


def test_validators_see_every_kernel_of_the_tree(hub: MemoryHub) -> None:
    seen = list[tuple[str, str]]()

    class Note:
        def validate_metadata(self, *, metadata: Metadata, variant: str) -> None:
            seen.append((str(metadata.name), variant))

    tree = resolve_kernel_tree(API, TOY, None, HubResolver(False))
    tree.validate_metadata(AllValidator([Note(), DependencyValidator()]))
    assert seen == [("low", "torch-cpu"), ("toy", "torch-cpu")]


def metadata(**options: object) -> Metadata:
    return Metadata.from_bytes(kernel_files(**options)["metadata.json"])  # type: ignore[arg-type]


def test_validators_refuse_what_is_not_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(probe, "probe_devices", lambda _: (Device(arch="gfx1100"),))
    variant = "torch-rocm"
    with pytest.raises(RuntimeError, match=r"no code for device 0 \(gfx1100\); .* for gfx942"):
        ArchValidator().validate_metadata(
            metadata=metadata(backend=Backend.ROCM, archs=("gfx942",)), variant=variant
        )
    ArchValidator().validate_metadata(metadata=metadata(), variant=variant)
    with pytest.raises(RuntimeError, match=r"requires kernels>=99\.0\.0, but version"):
        MinverValidator().validate_metadata(metadata=metadata(minver="99.0.0"), variant=variant)
    with pytest.raises(ImportError, match="requires Python dependency `nki`"):
        DependencyValidator().validate_metadata(
            metadata=metadata(python_depends=("nki",)), variant=variant
        )
    dirty = SourceState(commit="a" * 40, is_dirty=True)
    clean = replace(dirty, is_dirty=False, version="1.0.0")
    DirtyValidator().validate_metadata(
        metadata=metadata(provenance=Provenance(kernel=dirty, kernel_builder=clean)),
        variant=variant,
    )
    assert "was built from a dirty git tree (kernel source had uncommitted" in caplog.text


def test_metadata_is_the_same_there_and_back() -> None:
    state = SourceState(commit="a" * 40, is_dirty=True)
    mine = metadata(
        archs=("gfx942",),
        backend=Backend.ROCM,
        minver="0.17.0",
        kernel_depends=NEEDS_LOW,
        python_depends=("einops",),
        provenance=Provenance(kernel=state, kernel_builder=replace(state, version="1.0.0")),
    )
    assert Metadata.from_spec(mine.to_spec()) == mine


def test_locks_are_made_of_every_build(hub: MemoryHub, tmp_path: Path) -> None:
    """R13."""
    extra = kernel_files(kernel_depends=NEEDS_LOW)
    hub.publish("acme/other", "v1", {"tvm-ffi01-cpu-x86_64-linux": extra})
    other = first_version("acme/other")
    known = {TOY: KernelLock("b" * 40)}
    assert lock_kernel_tree(TOY, api=API, kernel_locks=known) is known
    assert known == {TOY: KernelLock("b" * 40)}
    found = lock_kernel_tree(other, api=API)
    assert found == {
        other: KernelLock(commit_of(hub, "acme/other")),
        LOW: KernelLock(commit_of(hub, "acme/low")),
    }
    with pytest.raises(ValueError, match="Cyclic kernel dependency detected: acme/low"):
        lock_kernel_tree(other, api=API, seen={LOW})
    locks = extract_dependency_locks([TOY, other], api=API)
    assert [it.repo_id for it in locks] == ["acme/low", "acme/other", "acme/toy"]
    with pytest.raises(ValueError, match=r"No kernels found to lock\."):
        extract_dependency_locks([], api=API)
    path = tmp_path / "kernels.lock"
    path.write_text(locks.to_json())
    assert get_locked_kernel_revision("acme/toy", path) == (locks, TOY)
    with pytest.raises(NotLocked, match="Kernel `acme/none` is not locked"):
        get_locked_kernel_revision("acme/none", path)
    path.write_bytes(b"\xff")
    with pytest.raises(LockfileError, match="cannot be read"):
        get_locked_kernel_revision("acme/toy", path)
    assert isinstance(locks, KernelLocks)


def test_status_leads_one_step(hub: MemoryHub) -> None:
    status = status_format.Redirect(destination=RepoId.parse("acme/toy"), revision="v1")
    files = {status_format.FILE_NAME: status_format.dumps(status).encode()}
    hub.publish("acme/moved", "main", {}, others=files)
    assert resolve_status(API, "acme/moved", "main") == ("acme/toy", "v1")
    assert resolve_status(API, "acme/toy", "v1") == ("acme/toy", "v1")
    redirect = Redirect("redirect", "acme/toy", "v1")
    assert KernelStatus.check_status(API, "acme/moved", "main") == redirect
    assert KernelStatus.from_toml(status_format.dumps(status)) == redirect
    assert Redirect.from_dict({"kind": "redirect", "destination": "acme/toy"}) == replace(
        redirect, revision="main"
    )
    with pytest.raises(StatusError, match="must contain a 'destination' field"):
        Redirect.from_dict({"kind": "redirect"})
    with pytest.raises(StatusError, match="kind must be 'redirect' for Redirect"):
        Redirect.from_dict({"kind": "gone"})


def test_variants_of_a_repository_are_listed(hub: MemoryHub) -> None:
    assert get_variants(API, repo_id="acme/toy", revision="v1") == [parse_variant("torch-cpu")]


def test_kernel_dependencies_are_offered_in_a_block() -> None:
    import math

    with use_kernel_deps({"acme/low": math}):
        assert get_kernel_dep("acme/low") is math
    with pytest.raises(RuntimeError, match="only works during kernel loading"):
        get_kernel_dep("acme/low")


def test_hub_of_the_api_is_asked_with_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[tuple[str, object]]()

    def open_hub(settings: Settings, _: Cache, __: object, token: object) -> None:
        opened.append((settings.endpoint, token))

    monkeypatch.setenv("HF_ENDPOINT", "http://other.test")
    monkeypatch.setattr(session, "open_hub", open_hub)
    first = session.open_session(endpoint="http://hub.test/", token="secret")
    second = session.open_session()
    assert opened == [("http://hub.test", "secret"), ("http://other.test", None)]
    assert first.cache.root != second.cache.root, "Hubs share nothing"
