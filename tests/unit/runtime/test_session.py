from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, unload_kernels, write_files

import kernels
from kernelmill.runtime import session
from kernelmill.runtime.cli import main
from kernelmill.runtime.errors import (
    HubUnreachable,
    MissingDependency,
    NotCached,
    NotTrusted,
    RepositoryNotFound,
    RevisionNotFound,
    UnpinnedKernelWarning,
    UnsupportedArch,
    UnsupportedKernel,
    VersionNotFound,
)
from kernelmill.runtime.explain import explain
from kernelmill.runtime.hub.cached import CachedHub
from kernelmill.runtime.session import Session
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import DigestMismatch, HubError, InputError, MetadataError, NoVariant
from kernelmill.spec.host import Device
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.spec.host import Host

TOY = "acme/toy"
OLD = "torch28-cxx11-cpu-x86_64-linux"


@pytest.fixture
def toy(process_session: MemoryHub) -> MemoryHub:
    """A repository with two versions, in a Hub that the public functions ask."""
    for number in (1, 2):
        build = kernel_files(value=number, version=number)
        process_session.publish(TOY, f"v{number}", {"torch-cpu": build, OLD: build})
    return process_session


@pytest.fixture
def offline(cache: Cache, host: Host) -> Session:
    """A session that may not use the network."""
    return Session(hub=CachedHub(endpoint="http://hub.test", cache=cache), cache=cache, host=host)


def test_get_kernel_loads_the_version_that_is_asked_for(toy: MemoryHub) -> None:
    assert kernels.get_kernel(TOY, version=1).VALUE == 1
    assert kernels.get_kernel(TOY, version=2).VALUE == 2
    assert [each.repo_info for each in kernels.get_loaded_kernels()] == [
        kernels.RepoInfo(repo_id=TOY, revision=toy.repos[TOY].branches[branch])
        for branch in ("v1", "v2")
    ]


def test_get_kernel_loads_the_revision_that_is_asked_for(toy: MemoryHub) -> None:
    commit = toy.repos[TOY].branches["v1"]
    assert kernels.get_kernel(TOY, revision=commit).VALUE == 1
    assert "commit" not in toy.calls, "a full commit id needs no question"
    assert kernels.get_kernel(TOY, revision="v2").VALUE == 2


def test_get_kernel_takes_the_newest_and_names_the_pin_when_nothing_is_asked_for(
    toy: MemoryHub,
) -> None:
    toy.publish(TOY, "v10", {"torch-cpu": kernel_files(value=10)})
    toy.publish(TOY, "main", {})
    with pytest.warns(UnpinnedKernelWarning, match=r'get_kernel\("acme/toy", version=10\)') as seen:
        assert kernels.get_kernel(TOY).VALUE == 10
    assert [(each.filename) for each in seen] == [__file__]


def test_get_kernel_takes_main_and_names_the_commit_when_there_are_no_versions(
    process_session: MemoryHub,
) -> None:
    commit = process_session.publish(TOY, "main", {"torch-cpu": kernel_files(value="main")})
    with pytest.warns(UnpinnedKernelWarning, match=f'revision="{commit}"'):
        assert kernels.get_kernel(TOY).VALUE == "main"


def test_get_kernel_does_not_warn_when_pinned(toy: MemoryHub) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        kernels.get_kernel(TOY, version=1)
        kernels.get_kernel(TOY, revision="v2")
    assert seen == []


def test_get_kernel_mentions_a_newer_version_in_the_log(
    toy: MemoryHub, caplog: pytest.LogCaptureFixture
) -> None:
    kernels.get_kernel(TOY, version=1)
    assert "You are using version 1 of 'acme/toy', but version 2 is available." in caplog.messages


def test_get_kernel_never_substitutes_a_version(toy: MemoryHub) -> None:
    with pytest.raises(VersionNotFound, match="Version 3 not found, available versions: 1, 2"):
        kernels.get_kernel(TOY, version=3)


def test_get_kernel_refuses_both_a_version_and_a_revision(toy: MemoryHub) -> None:
    with pytest.raises(ValueError, match=r"Only one of `revision` or `version` must be specified."):
        kernels.get_kernel(TOY, version=1, revision="main")


def test_get_kernel_names_a_missing_repository(toy: MemoryHub) -> None:
    with pytest.raises(RepositoryNotFound, match="there is no kernel repository 'acme/nothing'"):
        kernels.get_kernel("acme/nothing", version=1)


def test_get_kernel_names_a_missing_revision(toy: MemoryHub) -> None:
    with pytest.raises(RevisionNotFound, match="'acme/toy' has no revision 'nightly'"):
        kernels.get_kernel(TOY, revision="nightly")


def test_get_kernel_refuses_a_name_without_an_owner(toy: MemoryHub) -> None:
    with pytest.raises(ValueError, match="'gemm' is not a repository id"):
        kernels.get_kernel("gemm", version=1)


ENTRY_POINTS: list[Callable[..., object]] = [kernels.get_kernel, kernels.has_kernel]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
@pytest.mark.parametrize(
    ("owner", "problem"),
    [
        pytest.param("stranger", "is not from a trusted publisher", id="untrusted"),
        pytest.param("someone", "the Hub knows no organization 'someone'", id="no-organization"),
    ],
)
def test_untrusted_code_is_refused_before_anything_is_fetched(
    process_session: MemoryHub, entry: Callable[..., object], owner: str, problem: str
) -> None:
    process_session.publish(f"{owner}/toy", "v1", {"torch-cpu": kernel_files()})
    with pytest.raises(NotTrusted, match=problem):
        entry(f"{owner}/toy", version=1)
    with pytest.raises(NotTrusted, match=problem):
        entry(f"{owner}/toy", version=1, trust_remote_code=[f"{owner}/toy-two", TOY])
    assert set(process_session.calls) == {"trust"}


@pytest.mark.parametrize("trust", [True, ["stranger/toy"], ("stranger/toy",), {"stranger/toy"}])
def test_untrusted_code_runs_when_the_caller_allows_it(
    process_session: MemoryHub, trust: object
) -> None:
    process_session.publish("stranger/toy", "v1", {"torch-cpu": kernel_files()})
    kernel = kernels.get_kernel("stranger/toy", version=1, trust_remote_code=trust)  # type: ignore[arg-type]
    assert kernel.VALUE == 1


def test_trust_refuses_a_lone_string(toy: MemoryHub) -> None:
    with pytest.raises(InputError, match=r"pass a list of repositories: .*\['acme/toy'\]"):
        kernels.get_kernel(TOY, version=1, trust_remote_code="acme/toy")


def test_entry_points_agree_on_the_build_of_each_version(toy: MemoryHub) -> None:
    toy.publish(TOY, "v1", {OLD: kernel_files()})
    assert kernels.has_kernel(TOY, version=1) is False
    assert kernels.has_kernel(TOY, version=2) is True
    with pytest.raises(NoVariant, match=r"in acme/toy \(revision: v1\)"):
        kernels.get_kernel(TOY, version=1)
    listed = {
        version: [
            str(each.variant)
            for each in kernels.get_kernel_variants(TOY, version=version)
            if isinstance(each, kernels.VariantAccepted)
        ]
        for version in (1, 2)
    }
    assert listed == {1: [], 2: ["torch-cpu"]}
    (rejected,) = kernels.get_kernel_variants(TOY, version=1)
    assert isinstance(rejected, kernels.VariantRejected)
    assert rejected.reason == (
        "Torch version (2.8) does not match environment Torch version (2.13.0+cpu)"
    )


def test_versions_are_listed_when_there_is_no_torch(
    toy: MemoryHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], host: Host
) -> None:
    bare = replace(host, torch=None, cxx11_abi=None)
    monkeypatch.setattr(session, "probe_host", lambda: bare)
    assert main(["versions", TOY]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["version", "2", "2", "1", "1"]
    assert "Torch version (2.8) does not match environment Torch version (None)" in lines[2]


def test_entry_points_agree_when_nothing_is_pinned(toy: MemoryHub) -> None:
    toy.publish(TOY, "v3", {OLD: kernel_files()})
    assert kernels.has_kernel(TOY) is False
    with pytest.raises(NoVariant, match=r"\(revision: v3\)"):
        kernels.get_kernel(TOY)  # what was not loaded cannot be pinned: no warning


@pytest.mark.parametrize(
    ("folders", "problem"),
    [
        pytest.param([], "no build variants found", id="no-builds"),
        pytest.param(["docs", "x86"], "skipped 2 not named like a variant: docs, x86", id="others"),
    ],
)
def test_get_kernel_raises_one_kind_of_error_when_there_is_no_build(
    process_session: MemoryHub, folders: list[str], problem: str
) -> None:
    process_session.publish(TOY, "v1", {folder: kernel_files() for folder in folders})
    with pytest.raises(NoVariant, match=problem):
        kernels.get_kernel(TOY, version=1)


def test_metadata_is_checked_before_the_other_files_are_fetched(toy: MemoryHub) -> None:
    build = kernel_files()
    build["metadata.json"] = b"{"
    toy.publish(TOY, "v3", {"torch-cpu": build})
    with pytest.raises(MetadataError, match=r"metadata.json: not valid JSON"):
        kernels.get_kernel(TOY, version=3)
    downloads = [call for call in toy.calls if call.startswith("download")]
    assert downloads == ["download build/torch-cpu/metadata.json"]


def test_get_kernel_says_so_when_a_build_has_no_metadata(toy: MemoryHub) -> None:
    toy.publish(TOY, "v3", {"torch-cpu": {"__init__.py": b""}})
    with pytest.raises(MetadataError, match=r"build/torch-cpu holds no metadata.json"):
        kernels.get_kernel(TOY, version=3)


def test_only_the_chosen_build_is_fetched_and_no_bytecode(toy: MemoryHub, cache: Cache) -> None:
    build = kernel_files(sources={"extra.py": ""})
    build["__pycache__/extra.cpython-311.pyc"] = b"planted"
    build["lone.pyc"] = b"planted"
    commit = toy.publish(TOY, "v3", {"torch-cpu": build, OLD: build})
    kernels.get_kernel(TOY, version=3)
    snapshot = cache.snapshot(RepoId.parse(TOY), commit)
    fetched = sorted(p.relative_to(snapshot).as_posix() for p in snapshot.rglob("*") if p.is_file())
    assert fetched == [f"build/torch-cpu/{n}" for n in ("__init__.py", "extra.py", "metadata.json")]


def test_loading_again_asks_for_no_file(toy: MemoryHub) -> None:
    kernels.get_kernel(TOY, version=1)
    toy.calls.clear()
    kernels.get_kernel(TOY, version=1)
    assert toy.calls == ["trust", "refs"], "a commit's folders never change"


def test_explain_calls_a_build_cached_when_all_of_it_is(toy: MemoryHub, loader: Session) -> None:
    kernels.has_kernel(TOY, version=1)
    assert explain(loader, TOY, version=1).is_cached is False
    kernels.get_kernel(TOY, version=1)
    assert explain(loader, TOY, version=1).is_cached is True


def test_interrupted_fetching_is_completed(toy: MemoryHub, loader: Session) -> None:
    toy.publish(TOY, "v3", {"torch-cpu": kernel_files(sources={"a.py": "", "b.py": ""})})
    selection = loader.select(TOY, version=3)
    toy.fails_after = 2
    with pytest.raises(ConnectionResetError):
        loader.install(selection, "torch-cpu")
    toy.fails_after = None
    repo = RepoId.parse(TOY)
    write_files(loader.cache.repo_folder(repo) / "blobs", {"0123.incomplete": b""})
    folder = loader.install(selection, "torch-cpu")
    assert sorted(each.name for each in folder.iterdir()) == [
        "__init__.py",
        "a.py",
        "b.py",
        "metadata.json",
    ]
    assert len([call for call in toy.calls if call.startswith("download")]) == 4


def test_file_removed_from_the_cache_is_fetched_again(toy: MemoryHub, loader: Session) -> None:
    selection = loader.select(TOY, version=1)
    folder = loader.install(selection, "torch-cpu")
    (folder / "__init__.py").unlink()
    assert (loader.install(selection, "torch-cpu") / "__init__.py").is_file()


def test_hub_cannot_place_files_outside_the_build(toy: MemoryHub) -> None:
    toy.publish(TOY, "v3", {"torch-cpu": {**kernel_files(), "../../../evil.py": b""}})
    with pytest.raises(HubError, match=r"names the file '.*evil.py', outside its folder"):
        kernels.get_kernel(TOY, version=3)


def test_changed_file_in_the_cache_is_refused(toy: MemoryHub, loader: Session) -> None:
    selection = loader.select(TOY, version=1)
    folder = loader.install(selection, "torch-cpu")
    path = (folder / "__init__.py").resolve()
    path.write_bytes(path.read_bytes().replace(b"VALUE = 1", b"VALUE = 9"))
    with pytest.raises(DigestMismatch, match=r"File hash mismatch for __init__.py"):
        kernels.get_kernel(TOY, version=1)


def test_offline_loads_by_version_and_commit_what_was_loaded_online(
    toy: MemoryHub, offline: Session
) -> None:
    module = kernels.get_kernel(TOY, version=1)
    commit = toy.repos[TOY].branches["v1"]
    toy.publish(TOY, "v1", {"torch-cpu": kernel_files(value="moved")})
    toy.calls.clear()
    for wanted in ({"version": 1}, {"revision": "v1"}, {"revision": commit}, {}):
        selection = offline.select(TOY, **wanted)
        assert offline.load(selection) is module
    assert toy.calls == []


def test_offline_says_so_when_something_is_not_cached(toy: MemoryHub, offline: Session) -> None:
    kernels.get_kernel(TOY, version=1)
    with pytest.raises(VersionNotFound, match="Version 2 of 'acme/toy' is not available in the lo"):
        offline.select(TOY, version=2)
    with pytest.raises(NotCached, match="revision 'main' of 'acme/toy' is not in the cache"):
        offline.select(TOY, revision="main")
    with pytest.raises(NotCached, match="Cannot find a local snapshot for acme/toy"):
        offline.select(TOY, revision="0" * 40)


def test_offline_refuses_a_build_that_is_not_whole(toy: MemoryHub, offline: Session) -> None:
    kernels.get_kernel(TOY, version=1)
    selection = offline.select(TOY, version=1)
    (offline.install(selection, "torch-cpu") / "__init__.py").unlink()
    unload_kernels()
    with pytest.raises(DigestMismatch, match=r"Missing file: __init__.py"):
        offline.load(selection)


def test_offline_says_so_when_a_build_has_not_arrived_completely(
    toy: MemoryHub, offline: Session
) -> None:
    kernels.get_kernel(TOY, version=1)
    selection = offline.select(TOY, version=1)
    (offline.folder_of(selection, "torch-cpu") / "metadata.json").unlink()
    with pytest.raises(NotCached, match="build/torch-cpu of 'acme/toy' was not downloaded compl"):
        offline.load(selection)


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param({"version": 1}, id="version"),
        pytest.param({"revision": "v1"}, id="branch"),
        pytest.param({"trust_remote_code": True, "version": 1}, id="allowed"),
    ],
)
def test_hub_that_is_down_is_remembered_with_one_warning(
    toy: MemoryHub, caplog: pytest.LogCaptureFixture, wanted: dict[str, Any]
) -> None:
    module = kernels.get_kernel(TOY, version=1)
    kernels.get_kernel(TOY, revision="v1")
    caplog.clear()
    toy.is_down = True
    assert kernels.get_kernel(TOY, **wanted) is module
    assert [it.message for it in caplog.records if it.levelname == "WARNING"] == [
        "the Hub does not answer (down); using what was fetched from it before"
    ]
    assert kernels.has_kernel(TOY, **wanted) is True


def test_hub_that_is_down_is_remembered_when_nothing_is_pinned(toy: MemoryHub) -> None:
    module = kernels.get_kernel(TOY, version=1)
    toy.is_down = True
    with pytest.warns(UnpinnedKernelWarning, match="version=1"):
        assert kernels.get_kernel(TOY) is module


def test_hub_that_is_down_is_the_error_when_the_cache_cannot_answer(toy: MemoryHub) -> None:
    kernels.get_kernel(TOY, version=1)
    toy.is_down = True
    for wanted in ({"version": 2}, {"revision": "main"}, {"revision": "0" * 40}):
        with pytest.raises(HubUnreachable, match="the Hub does not answer"):
            kernels.get_kernel(TOY, **wanted)


def test_hub_that_is_down_vouches_for_nobody_it_did_not_vouch_for(
    process_session: MemoryHub, loader: Session
) -> None:
    hub = process_session
    hub.publish("stranger/toy", "v1", {"torch-cpu": kernel_files()})
    kernels.get_kernel("stranger/toy", version=1, trust_remote_code=True)
    hub.is_down = True
    with pytest.raises(HubUnreachable, match="the Hub does not answer"):
        kernels.get_kernel("stranger/toy", version=1)
    hub.is_down = False
    hub.trusted.add("stranger")
    kernels.get_kernel("stranger/toy", version=1)
    hub.trusted.remove("stranger")
    with pytest.raises(NotTrusted):
        kernels.get_kernel("stranger/toy", version=1)
    hub.is_down = True
    with pytest.raises(HubUnreachable):
        kernels.get_kernel("stranger/toy", version=1)


def test_build_that_is_not_whole_is_not_imported_when_the_hub_is_down(
    toy: MemoryHub, loader: Session
) -> None:
    folder = loader.install(loader.select(TOY, version=1), "torch-cpu")
    kernels.has_kernel(TOY, version=1)
    (folder / "__init__.py").unlink()
    toy.is_down = True
    with pytest.raises(HubUnreachable):
        kernels.get_kernel(TOY, version=1)


def test_hub_offline_variable_switches_the_network_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: Host
) -> None:
    monkeypatch.setattr(session, "probe_host", lambda: host)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("KERNELS_CACHE", str(tmp_path))
    with pytest.raises(VersionNotFound, match="cache and the Hub is in offline mode"):
        kernels.get_kernel(TOY, version=1, trust_remote_code=True)
    with pytest.raises(
        NotTrusted, match="is not known to have vouched for 'acme' before"
    ) as caught:
        kernels.get_kernel(TOY, version=1)
    assert caught.value.hint == "load it once with the network on (HF_HUB_OFFLINE unset)"


def test_local_kernels_replaces_the_hub(
    process_session: MemoryHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_files(tmp_path / "toy/build/torch-cpu", kernel_files(value="local"))
    monkeypatch.setenv("LOCAL_KERNELS", f"{TOY}={tmp_path / 'toy'}")
    assert kernels.get_kernel(TOY).VALUE == "local"
    assert kernels.get_kernel(TOY, backend="cpu", version=7).VALUE == "local"
    assert kernels.has_kernel(TOY) is True
    assert process_session.calls == []


def test_local_kernels_names_a_wrong_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_KERNELS", "acme/toy")
    with pytest.raises(ValueError, match=r"Invalid LOCAL_KERNELS entry: acme/toy. Expected format"):
        kernels.get_kernel(TOY)


@pytest.mark.parametrize("backend", [Backend.METAL, Backend.ROCM, Backend.CUDA])
def test_local_kernel_for_the_cpu_has_to_be_asked_for_when_there_is_an_accelerator(
    monkeypatch: pytest.MonkeyPatch, host: Host, tmp_path: Path, backend: Backend
) -> None:
    monkeypatch.setattr(
        session, "probe_host", lambda: replace(host, backend=backend, backend_version=None)
    )
    write_files(tmp_path / "build/torch-cpu", kernel_files())
    with pytest.raises(NoVariant) as caught:
        kernels.get_local_kernel(tmp_path)
    text = str(caught.value)
    assert f"no variant for {backend} among 1 found" in text
    assert "found torch-cpu; pass backend='cpu' to use it" in text
    assert kernels.get_local_kernel(tmp_path, backend="cpu").VALUE == 1


@pytest.mark.parametrize("place", ["", "build", "build/torch-cpu"])
def test_local_kernel_is_found_when_a_folder_above_or_the_build_itself_is_given(
    process_session: MemoryHub, tmp_path: Path, place: str
) -> None:
    write_files(tmp_path / "build/torch-cpu", kernel_files())
    (tmp_path / "torch-ext").mkdir()
    assert kernels.get_local_kernel(tmp_path / place).VALUE == 1


def test_local_kernel_is_found_when_the_build_has_another_name(
    process_session: MemoryHub, tmp_path: Path
) -> None:
    assert kernels.get_local_kernel(write_files(tmp_path / "result", kernel_files())).VALUE == 1


def test_local_kernel_may_be_a_snapshot_of_the_cache(
    toy: MemoryHub, loader: Session, tmp_path: Path
) -> None:
    folder = loader.install(loader.select(TOY, version=1), "torch-cpu")
    assert (folder / "__init__.py").is_symlink()
    assert kernels.get_local_kernel(folder.parents[1]).VALUE == 1


def test_has_kernel_names_a_missing_repository(toy: MemoryHub) -> None:
    with pytest.raises(RepositoryNotFound, match="there is no kernel repository 'acme/nothing'"):
        kernels.has_kernel("acme/nothing", version=1)


def test_old_build_takes_its_name_from_the_repository(toy: MemoryHub) -> None:
    build = kernel_files(has_digest=False)
    build["metadata.json"] = b'{"version": 3, "python-depends": []}'
    toy.publish(TOY, "v3", {"torch-cpu": build})
    assert kernels.get_kernel(TOY, version=3).__name__.startswith("_toy_cpu_")


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        pytest.param("nowhere", "there is no folder '.*nowhere'", id="no-folder"),
        pytest.param("", "no build variants found; skipped 1 .*: odd", id="no-builds"),
        pytest.param(f"old/{OLD}", "does not match environment Torch", id="one-unfit-build"),
    ],
)
def test_local_kernel_says_why_when_there_is_none(
    process_session: MemoryHub, tmp_path: Path, folder: str, problem: str
) -> None:
    write_files(tmp_path / "build/odd", {"x": b""})
    write_files(tmp_path / "old" / OLD, kernel_files())
    with pytest.raises(FileNotFoundError, match=problem):
        kernels.get_local_kernel(tmp_path / folder)


def test_kernel_is_refused_when_it_needs_a_newer_interface(toy: MemoryHub) -> None:
    toy.publish(TOY, "v3", {"torch-cpu": kernel_files(minver="0.99.0")})
    with pytest.raises(UnsupportedKernel, match=r"requires kernels>=0.99.0, but version 0.18.2 is"):
        kernels.get_kernel(TOY, version=3)


@pytest.mark.parametrize(
    ("name", "error", "problem"),
    [
        pytest.param("helion", MissingDependency, "pip install helion", id="not-installed"),
        pytest.param("left-pad", InputError, "unsupported kernel dependency: left-pad", id="other"),
    ],
)
def test_kernel_is_refused_when_it_needs_a_package(
    toy: MemoryHub, name: str, error: type[Exception], problem: str
) -> None:
    toy.publish(TOY, "v3", {"torch-cpu": kernel_files(python_depends=(name,))})
    with pytest.raises(error, match=problem):
        kernels.get_kernel(TOY, version=3)


def test_kernel_is_refused_when_it_has_no_code_for_the_device(
    toy: MemoryHub, monkeypatch: pytest.MonkeyPatch, host: Host
) -> None:
    rocm = replace(host, backend=Backend.ROCM, backend_version=(7, 1))
    monkeypatch.setattr(session, "probe_host", lambda: rocm)
    monkeypatch.setattr(session, "probe_devices", lambda _: (Device(arch="gfx1100"),))
    build = kernel_files(backend=Backend.ROCM, archs=("gfx942",))
    toy.publish(TOY, "v3", {"torch-rocm": build})
    with pytest.raises(UnsupportedArch, match=r"no code for device 0 \(gfx1100\); .* for gfx942"):
        kernels.get_kernel(TOY, version=3)
    assert kernels.has_kernel(TOY, version=3) is False
    assert kernels.has_kernel(TOY, version=3, check_arch=False) is True
    assert kernels.get_kernel(TOY, version=3, check_arch=False).VALUE == 1


def test_backend_that_is_not_here_is_named(toy: MemoryHub) -> None:
    with pytest.raises(ValueError, match="Invalid backend 'rocm', system supported backends: cpu"):
        kernels.get_kernel(TOY, version=1, backend="rocm")


@pytest.mark.parametrize("version", [-1, True, 1.0, "1", pytest.param(10**5000, id="huge")])
def test_version_is_refused_when_it_is_none(toy: MemoryHub, version: object) -> None:
    with pytest.raises(InputError, match="acme/toy: a version is a whole number from 0 to 99"):
        kernels.get_kernel(TOY, version=version)  # type: ignore[arg-type]
    assert toy.calls == ["trust"]


@pytest.mark.parametrize(
    "revision", ["", ".", "a/../b", "/a", "a\\b", "a\0", "\ud800", "\x1b[31m", 5]
)
def test_revision_is_refused_when_nothing_could_have_that_name(
    toy: MemoryHub, revision: object
) -> None:
    with pytest.raises(InputError, match="is not a revision"):
        kernels.get_kernel(TOY, revision=revision)  # type: ignore[arg-type]
    assert toy.calls == ["trust"]


@pytest.mark.parametrize("trust", [None, 1, 1.5])
def test_trust_is_refused_when_it_is_of_another_type(toy: MemoryHub, trust: object) -> None:
    with pytest.raises(InputError, match=r"trust_remote_code is .*\n.*pass True, False or a list"):
        kernels.get_kernel(TOY, version=1, trust_remote_code=trust)  # type: ignore[arg-type]
