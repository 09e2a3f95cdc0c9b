"""One gate for every way in (S3): no code of an untrusted publisher is fetched, let alone run.

Whoever adds a function that loads kernels adds it to ``WAYS_IN``; a test below says so.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, write_files

from kernelmill.runtime import api, session
from kernelmill.runtime.errors import BadRedirect, NotTrusted
from kernelmill.runtime.hub.cached import CachedHub
from kernelmill.runtime.load import get_loaded_kernels
from kernelmill.spec import lockfile as lockfile_format
from kernelmill.spec import status as status_format
from kernelmill.spec.errors import NoVariant, StatusError
from kernelmill.spec.lockfile import LockedKernel, Lockfile
from kernelmill.spec.metadata import KernelDependency
from kernelmill.spec.names import RepoId
from kernelmill.spec.status import Redirect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.spec.host import Host

STRANGER = "stranger/toy"
NEEDS_STRANGER = (KernelDependency(repo_id=RepoId.parse(STRANGER), version=1),)


def moved_to(repo: str, revision: str = "v1") -> dict[str, bytes]:
    status = Redirect(destination=RepoId.parse(repo), revision=revision)
    return {status_format.FILE_NAME: status_format.dumps(status).encode()}


@pytest.fixture
def hub(process_session: MemoryHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryHub:
    """A stranger's kernel, and trusted names, a lock and an override that lead to it."""
    hub = process_session
    commits = {STRANGER: hub.publish(STRANGER, "v1", {"torch-cpu": kernel_files(value="evil")})}
    user = kernel_files(kernel_depends=NEEDS_STRANGER)
    commits["acme/user"] = hub.publish("acme/user", "v1", {"torch-cpu": user})
    hub.publish("acme/moved", "v1", {}, others=moved_to(STRANGER))
    kernels = tuple(
        LockedKernel(repo_id=RepoId.parse(repo), version=1, commit=commit)
        for repo, commit in commits.items()
    )
    (tmp_path / "kernels.lock").write_text(lockfile_format.dumps(Lockfile(kernels=kernels)))
    write_files(tmp_path / "override/build/torch-cpu", user)
    monkeypatch.setenv("LOCAL_KERNELS", f"acme/override={tmp_path / 'override'}")
    return hub


def get_locked(folder: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return api.get_locked_kernel(repo, lockfile=folder / "kernels.lock", **options)


def get(folder: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return api.get_kernel(repo, version=1, **options)


def has(folder: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return api.has_kernel(repo, version=1, **options)


def install(folder: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return api.install_kernel(repo, version=1, **options)


def install_all(folder: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return api.install_kernel_all_variants(repo, version=1, **options)


def get_local(folder: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return api.get_local_kernel(folder / "override", **options)


WAYS_IN: list[tuple[Callable[..., object], str]] = [
    *((way, STRANGER) for way in (get, has, install, install_all, get_locked)),
    *((way, "acme/user") for way in (get, has, install, install_all, get_locked)),
    *((way, "acme/moved") for way in (get, has, install, install_all)),
    *((way, "acme/override") for way in (get, has)),
    (get_local, "a folder"),
]
READS_ONLY = {"get_kernel_variants"}
USES_WHAT_IS_HERE = {"load_kernel", "get_kernel_dep"}
"""``load_kernel`` uses no network, so it has what one of the others was allowed to fetch."""


def test_every_function_that_takes_a_kernel_is_a_way_in() -> None:
    named = {
        name
        for name in api.__all__
        if name.islower()
        and {"repo_id", "repo_path"} & set(inspect.signature(getattr(api, name)).parameters)
    }
    tried = {inspect.getsource(way).split("api.")[1].split("(")[0] for way, _ in WAYS_IN}
    assert named == tried | READS_ONLY | USES_WHAT_IS_HERE


@pytest.mark.parametrize(("way", "repo"), WAYS_IN)
def test_untrusted_code_is_not_fetched(
    hub: MemoryHub, tmp_path: Path, way: Callable[..., object], repo: str
) -> None:
    for allowed in (False, [], ["stranger/toy-two", "acme/user", "acme/moved"]):
        with pytest.raises(NotTrusted, match="'stranger/toy' is not from a trusted publisher"):
            way(tmp_path, repo, trust_remote_code=allowed)
    evil = hub.repos[STRANGER].commits.popitem()[1]["build/torch-cpu/__init__.py"]
    blobs = [path for path in tmp_path.rglob("blobs/*") if path.read_bytes() == evil]
    assert (blobs, get_loaded_kernels()) == ([], [])


@pytest.mark.parametrize("trust", [True, [STRANGER]])
@pytest.mark.parametrize(("way", "repo"), WAYS_IN)
def test_untrusted_code_is_fetched_when_the_caller_allows_it(
    hub: MemoryHub, tmp_path: Path, way: Callable[..., object], repo: str, trust: object
) -> None:
    assert way(tmp_path, repo, trust_remote_code=trust)


def test_redirect_target_is_the_origin(hub: MemoryHub) -> None:
    """R7."""
    hub.trusted.add("stranger")
    module = api.get_kernel("acme/moved", version=1)
    assert module.VALUE == "evil"
    (loaded,) = get_loaded_kernels()
    commit = hub.repos[STRANGER].branches["v1"]
    assert loaded.repo_info == api.RepoInfo(repo_id=STRANGER, revision=commit)


def test_redirect_asks_for_the_trust_of_each_repository_before_it_is_read(hub: MemoryHub) -> None:
    hub.publish("stranger/way", "main", {}, others=moved_to("acme/end"))
    hub.publish("acme/begin", "v1", {}, others=moved_to("stranger/way", "main"))
    hub.publish("acme/end", "v1", {"torch-cpu": kernel_files(value="end")})
    hub.calls.clear()
    with pytest.raises(NotTrusted, match="'stranger/way' is not from") as caught:
        api.get_kernel("acme/begin", version=1)
    assert caught.value.__notes__ == ["'acme/begin' redirected to 'stranger/way'"]
    assert hub.calls == [
        "trust",
        "refs",
        "folders",
        "files",
        "download kernel-status.toml",
        "trust",
    ]
    allowed = api.get_kernel("acme/begin", version=1, trust_remote_code=["stranger/way"])
    assert allowed.VALUE == "end"


def test_redirect_is_remembered(hub: MemoryHub) -> None:
    hub.trusted.add("stranger")
    api.get_kernel("acme/moved", version=1)
    hub.calls.clear()
    api.get_kernel("acme/moved", version=1)
    assert hub.calls == ["trust", "refs", "trust", "commit"], "as without one, twice"


def test_redirect_is_followed_offline(
    hub: MemoryHub, cache: Cache, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.trusted.add("stranger")
    module = api.get_kernel("acme/moved", version=1)
    offline = CachedHub(endpoint=hub.endpoint, cache=cache)
    monkeypatch.setattr(session, "open_hub", lambda *_: offline)
    assert api.get_kernel("acme/moved", version=1) is module


def test_entry_points_agree_on_a_kernel_that_moved(hub: MemoryHub) -> None:
    hub.trusted.add("stranger")
    (listed,) = api.get_kernel_variants("acme/moved", version=1)
    assert str(listed.variant) == "torch-cpu"
    assert api.has_kernel("acme/moved", version=1) is True
    assert api.install_kernel("acme/moved", version=1).name == "torch-cpu"


def test_repository_that_holds_a_build_that_fits_is_not_left(hub: MemoryHub) -> None:
    build = kernel_files(value="still here")
    hub.publish("acme/both", "v1", {"torch-cpu": build}, others=moved_to(STRANGER))
    assert api.get_kernel("acme/both", version=1).VALUE == "still here"
    assert "files" in hub.calls
    assert "download kernel-status.toml" not in hub.calls


def test_redirects_in_a_circle_are_refused(hub: MemoryHub) -> None:
    hub.publish("acme/a", "v1", {}, others=moved_to("acme/b"))
    hub.publish("acme/b", "v1", {}, others=moved_to("acme/a"))
    with pytest.raises(BadRedirect, match="lead in a circle: acme/a -> acme/b -> acme/a"):
        api.get_kernel("acme/a", version=1)
    hub.publish("acme/self", "v1", {}, others=moved_to("acme/self"))
    with pytest.raises(ValueError, match="lead in a circle: acme/self -> acme/self"):
        api.has_kernel("acme/self", version=1)


def test_long_way_is_refused(hub: MemoryHub) -> None:
    for number in range(9):
        hub.publish(f"acme/k{number}", "v1", {}, others=moved_to(f"acme/k{number + 1}"))
    with pytest.raises(BadRedirect, match=r"more than 4 redirects: acme/k0 -> .* -> acme/k5"):
        api.get_kernel("acme/k0", version=1)


def test_repository_without_builds_and_without_a_status_says_so(hub: MemoryHub) -> None:
    hub.publish("acme/empty", "v1", {}, others={"README.md": b""})
    with pytest.raises(NoVariant, match="no build variants found"):
        api.get_kernel("acme/empty", version=1)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"kind = 'x'", "Unknown kernel status kind: 'x'", id="kind"),
        pytest.param(b"\xff", "not valid TOML", id="not-text"),
        pytest.param(b"#" * 65537, "larger than 65536 bytes", id="huge"),
    ],
)
def test_bad_status_is_named(hub: MemoryHub, content: bytes, problem: str) -> None:
    hub.publish("acme/bad", "v1", {}, others={status_format.FILE_NAME: content})
    with pytest.raises(StatusError, match=f"acme/bad kernel-status.toml: {problem}"):
        api.get_kernel("acme/bad", version=1)
    assert "download kernel-status.toml" not in hub.calls or len(content) < 100


def test_build_cannot_name_a_kernel_by_its_data(hub: MemoryHub) -> None:
    """S1: a status file beside the build, or a file of the build, leads nowhere."""
    build = kernel_files(
        sources={status_format.FILE_NAME: moved_to(STRANGER).popitem()[1].decode()}
    )
    hub.publish("acme/data", "v1", {"torch-cpu": build})
    assert api.get_kernel("acme/data", version=1).VALUE == 1
    assert hub.calls.count("trust") == 1
