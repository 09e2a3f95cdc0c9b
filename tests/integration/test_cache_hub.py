"""What the cache saves, against a real Hub whose requests are counted, in real processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from demo.hub import stop
from tests.integration.cache_world import World, finish, world_in
from tests.unit.runtime.kernel_files import kernel_files

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = {f"part{number}.py": f"NUMBER = {number}\n" for number in range(6)}
FILES = len(SOURCES) + 2
NOTHING_IMPORTED = "False False"
ASKED = ["/api/organizations/acme/overview", "/api/kernels/acme/toy/refs"]
WAYS = ["{'version': 1}", "{'revision': 'v1'}", "{}", "{'revision': COMMIT}"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in(tmp_path_factory.mktemp("shared")) as world:
        world.upload(sources=SOURCES)
        yield world


@pytest.fixture
def world(shared: World, tmp_path: Path) -> World:
    """An empty cache, and a Hub on which nothing is changed."""
    world = World(shared.hub, shared.folder, tmp_path / "cache")
    world.requests()
    return world


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    """A Hub that is the test's own, to publish on or to stop."""
    with world_in(tmp_path) as world:
        world.upload(sources=SOURCES)
        world.requests()
        yield world


def commit_of(world: World) -> str:
    (path,) = world.cache.rglob("kernels--acme--toy/refs/v1")
    return path.read_text()


def writable(folder: Path, *, is_writable: bool) -> None:
    """Take or give the right to write, below ``folder`` too."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod((0o755 if is_writable else 0o555) if path.is_dir() else 0o644)


def test_cold_load_needs_four_questions_and_one_request_for_each_file(world: World) -> None:
    assert world.load().startswith("1 ")
    requests = world.requests()
    files = [each for each in requests if "/resolve/" in each]
    assert len(files) == FILES
    assert all(each.startswith("GET ") for each in files), "no HEAD"
    assert len(requests) - len(files) == 4
    assert not list(world.cache.rglob("*.incomplete"))


def test_warm_load_makes_no_request_and_imports_no_client(world: World) -> None:
    """Nor do the other ways to ask for what is here."""
    world.load()
    ways = [way.replace("COMMIT", repr(commit_of(world))) for way in WAYS]
    world.requests()
    assert [world.load(way) for way in ways] == [f"1 {NOTHING_IMPORTED}"] * 4
    world.command("explain", "acme/toy")
    world.command("versions", "acme/toy")
    assert world.requests() == []


def test_revalidation_is_as_often_as_the_environment_says(own: World) -> None:
    own.load()
    own.upload(2, sources=SOURCES)
    own.requests()
    assert own.load(KERNELS_REVALIDATE="3600") == f"1 {NOTHING_IMPORTED}"
    assert own.load(KERNELS_REVALIDATE="never") == f"1 {NOTHING_IMPORTED}"
    assert own.requests() == []
    assert own.load(KERNELS_REVALIDATE="always").startswith("2 ")
    assert [each.split()[1] for each in own.requests()][:2] == ASKED
    assert "KERNELS_REVALIDATE: 'soon' is not a time" in own.load(KERNELS_REVALIDATE="soon")


def test_loaded_kernel_loads_without_the_hub(own: World) -> None:
    """O1, O2, O3, R4: flagged offline, and with the Hub gone and the answers too old."""
    own.load()
    own.upload(2, sources=SOURCES)  # v1 moves on the Hub
    ways = [way.replace("COMMIT", repr(commit_of(own))) for way in WAYS]
    stop(own.hub)
    for way in ways:
        assert own.load(way, HF_HUB_OFFLINE="1") == f"1 {NOTHING_IMPORTED}"
    for way in ways[::2]:
        process = own.start(way, KERNELS_REVALIDATE="always")
        output, errors = process.communicate(timeout=120)
        assert output.startswith("1 "), errors
        assert errors.count("using what was fetched from it before") == 1
    listed = "kernels.has_kernel('acme/toy', version=1), kernels.get_kernel_variants('acme/toy')"
    script = f"import kernels; print(len(({listed})))"
    for env in ({"HF_HUB_OFFLINE": "1"}, {}):
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, env=own.env | env, check=True, capture_output=True)
        assert done.stdout == b"2\n"


def test_eight_processes_start_on_an_empty_cache_and_one_downloads(world: World) -> None:
    """O11: all of them together ask what one asks."""
    running = [world.start() for _ in range(8)]
    assert [finish(each).split()[0] for each in running] == ["1"] * 8
    requests = world.requests()
    files = [each for each in requests if "/resolve/" in each]
    assert sorted(files) == sorted(set(files))
    assert len(files) == FILES
    # A publisher's standing is asked by each: nothing is written, not even a lock, before the yes.
    others = [each for each in requests if "/resolve/" not in each and "/overview" not in each]
    assert len(others) == 3
    assert len([each for each in requests if "/overview" in each]) <= 8


def test_number_of_questions_does_not_grow_with_the_repository(own: World) -> None:
    """O11: 25,000 files, of which eight are the build's."""
    import http.client
    from base64 import b64encode
    from urllib.parse import urlsplit

    lines = [{"key": "header", "value": {"summary": "many"}}]
    empty = b64encode(b"").decode()
    for number in range(25_000):
        path = f"build/torch28-cxx11-cpu-x86_64-linux/{number % 250}/{number}.py"
        file = {"path": path, "content": empty, "encoding": "base64"}
        lines.append({"key": "file", "value": file})
    body = "\n".join(map(json.dumps, lines)).encode()
    where = urlsplit(own.hub.url)
    headers = {"Authorization": f"Bearer {own.hub.token}"}
    with closing(http.client.HTTPConnection(where.hostname or "", where.port)) as connection:
        connection.request("POST", "/api/kernels/acme/toy/commit/v1", body, headers)
        assert connection.getresponse().status == 200
    own.requests()
    assert own.load().startswith("1 ")
    assert len([each for each in own.requests() if "/resolve/" not in each]) == 4
    assert own.load() == f"1 {NOTHING_IMPORTED}"
    assert own.requests() == []


def test_readers_never_see_half_a_branch_while_one_updates(own: World) -> None:
    """O4: eight read in a loop while one updates."""
    own.load()
    own.upload(2, sources=SOURCES)
    (ref,) = own.cache.rglob("kernels--acme--toy/refs/v1")
    script = (
        "import sys, time; from pathlib import Path; end = time.monotonic() + 6; seen = set()\n"
        "while time.monotonic() < end: seen.add(len(Path(sys.argv[1]).read_text())); "
        "time.sleep(0.001)\nprint(seen)"
    )
    command = [sys.executable, "-c", script, str(ref)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    loaders = [own.start() for _ in range(3)]
    own.command("update")
    assert [finish(each).split()[0] in {"1", "2"} for each in loaders] == [True] * 3
    assert [finish(each) for each in readers] == ["{40}"] * 8
    inode = ref.stat().st_ino
    own.command("update")
    assert ref.stat().st_ino == inode, "what is the same is not written again"


def test_update_says_what_moved_and_fetches_it(own: World) -> None:
    own.load()
    before = commit_of(own)
    assert own.command("update") == f"acme/toy  v1  {before}  torch-cpu\n"
    own.upload(2, sources=SOURCES)
    printed = json.loads(own.command("update", "acme/toy", "--json"))
    (kernel,) = printed.pop("kernels")
    assert printed == {"version": 1, "endpoint": own.hub.url}
    now = commit_of(own)
    ref = {"name": "v1", "from": before, "to": now, "build": "torch-cpu", "problem": ""}
    assert before != now
    assert kernel == {
        "repo": "acme/toy",
        "trust": {"before": True, "now": True},
        "refs": [ref],
        "problem": "",
    }
    own.requests()
    assert own.load() == f"2 {NOTHING_IMPORTED}"
    assert own.requests() == []
    stop(own.hub)
    own.command("update", status=4)
    assert own.load() == f"2 {NOTHING_IMPORTED}"


def test_update_mends_what_was_changed(world: World) -> None:
    """K4: a load refuses it, and says what to do."""
    world.load()
    (path,) = world.cache.rglob("snapshots/*/build/torch-cpu/part1.py")
    path.resolve().write_text("NUMBER = 9\n")
    assert "File hash mismatch for part1.py" in world.load()
    world.command("update")
    assert world.load() == f"1 {NOTHING_IMPORTED}"


def test_update_refuses_what_is_not_here(world: World) -> None:
    assert world.command("update") == ""
    world.command("update", "acme/toy", status=2)
    world.load()
    world.command("update", status=4, HF_HUB_OFFLINE="1")


def test_update_says_when_a_publisher_lost_its_standing(world: World) -> None:
    world.load()
    vouch = next(world.cache.rglob("organisations/acme.json"))
    world.hub.run("org", "create", "stranger")
    world.upload(repo="stranger/toy")
    script = "import kernels; kernels.get_kernel('stranger/toy', version=1, trust_remote_code=True)"
    subprocess.run([sys.executable, "-c", script], env=world.env, check=True)
    vouch.with_name("stranger.json").write_bytes(vouch.read_bytes())  # as if it had had one
    printed = world.command("update", "stranger/toy", status=1)
    assert "stranger/toy  its publisher is no longer trusted" in printed
    assert "its publisher is not trusted: nothing was fetched" in printed
    assert "torch-cpu" in world.command("update", "stranger/toy", "--trust-remote-code")


def test_cache_that_cannot_be_written_is_read(world: World) -> None:
    """O7, L13: also when the build was never hashed by us before."""
    world.load()
    assert not list(world.cache.rglob("checked")), "what was just written is not settled"
    before = sorted(world.cache.rglob("*"))
    writable(world.cache, is_writable=False)
    try:
        # root may write everywhere, so the load is somebody else's.
        other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        drop = other if os.geteuid() == 0 else ()
        if drop and not shutil.which("setpriv"):
            pytest.skip("setpriv is not installed: it comes with the package util-linux")
        if not may_read(world, drop):
            pytest.skip("another user may not run this Python: it is below a private folder")
        assert world.load("{'version': 1}", *drop) == f"1 {NOTHING_IMPORTED}"
        assert world.load("{'version': 1}", *drop, HF_HUB_OFFLINE="1") == f"1 {NOTHING_IMPORTED}"
    finally:
        writable(world.cache, is_writable=True)
    assert sorted(world.cache.rglob("*")) == before
    world.requests()


def may_read(world: World, drop: tuple[str, ...]) -> bool:
    """Open pytest's own folder, which is private, for another user."""
    for parent in [world.cache, *world.cache.parents]:
        if parent.owner() == Path.home().owner() and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    script = f"from pathlib import Path; import kernels; list(Path({str(world.cache)!r}).iterdir())"
    return (
        not drop
        or subprocess.run([*drop, sys.executable, "-c", script], check=False).returncode == 0
    )


def test_warm_load_works_without_any_network(world: World) -> None:
    """In a network namespace that is empty: not even loopback is up."""
    world.load()
    namespace = ("unshare", "-rn")
    trial = [*namespace, "true"]
    if not shutil.which("unshare") or subprocess.run(trial, check=False).returncode:
        pytest.skip("unshare -rn is not permitted here")
    assert world.load("{'version': 1}", *namespace) == f"1 {NOTHING_IMPORTED}"
    assert world.load("{}", *namespace, HF_HUB_OFFLINE="1") == f"1 {NOTHING_IMPORTED}"


def test_two_hubs_with_the_same_name_never_mix(world: World, tmp_path: Path) -> None:
    with world_in(tmp_path / "other") as other:
        other.cache = world.cache
        other.upload("other", sources=SOURCES)
        for _ in range(2):
            assert world.load().split()[0] == "1"
            assert other.load().split()[0] == "other"
        world.requests()
        assert [world.load(), other.load()] == [f"{x} {NOTHING_IMPORTED}" for x in ("1", "other")]
        offline = [each.load(HF_HUB_OFFLINE="1") for each in (world, other)]
        assert offline == [f"{x} {NOTHING_IMPORTED}" for x in ("1", "other")]
        assert world.requests() == []
        refs = sorted(world.cache.rglob("kernels--acme--toy/refs/v1"))
        assert len({path.read_text() for path in refs}) == 2


def test_standing_at_one_hub_counts_for_nothing_at_another(world: World, tmp_path: Path) -> None:
    world.load()
    from demo.hub import serving

    with serving(tmp_path / "third" / "hub", "-v") as hub:
        third = World(hub, tmp_path / "third", world.cache)
        hub.run("org", "create", "acme")
        third.upload("third")
        assert "is not from a trusted publisher" in third.load()
        assert "is not from a trusted publisher" in third.load(HF_HUB_OFFLINE="1")


def test_cache_of_the_peer_is_read_offline(world: World, root: Path) -> None:
    """H7: as written by Hugging Face's own client, from the public Hub by all it can tell."""
    peer = os.environ.get("KERNELMILL_PEER") or str(root / ".venv-peer" / "bin" / "python")
    if not Path(peer).exists():
        pytest.fail("the PyPI kernels package is not set up: run make .venv-peer/ready")
    script = f"""
import sys
sys.path.append({sysconfig.get_path("purelib")!r})
import kernels
assert kernels.__version__ == "0.17.2", kernels.__file__
print(kernels.get_kernel("acme/toy", **eval(sys.argv[1])).VALUE)"""
    theirs = {name: value for name, value in world.env.items() if name != "PYTHONPATH"}
    for way in ("{'version': 1}", "{'revision': 'v1'}"):
        done = subprocess.run(
            [peer, "-c", script, way], env=theirs, check=True, capture_output=True
        )
        assert done.stdout == b"1\n"
    public = {"HF_ENDPOINT": "", "HF_HUB_OFFLINE": "1"}
    allowed = "'trust_remote_code': True"
    assert world.load(f"{{'revision': 'v1', {allowed}}}", **public) == f"1 {NOTHING_IMPORTED}"
    assert "is not known to have vouched for 'acme'" in world.load("{'revision': 'v1'}", **public)
    (folder,) = world.cache.glob("kernels--acme--toy")
    folder.rename(folder.with_name("models--acme--toy"))
    assert world.load(f"{{'version': 1, {allowed}}}", **public) == f"1 {NOTHING_IMPORTED}"
    (path,) = world.cache.rglob("models--*/snapshots/*/build/torch-cpu/part1.py")
    path.resolve().write_text("NUMBER = 9\n")
    assert "File hash mismatch for part1.py" in world.load(f"{{'version': 1, {allowed}}}", **public)


def test_lock_files_stay_the_same(world: World) -> None:
    """O16: many processes, one inode."""
    world.load()
    (path,) = world.cache.rglob("kernelmill.lock")
    inode = path.stat().st_ino
    shutil.rmtree(next(world.cache.rglob("snapshots")))
    running = [world.start() for _ in range(4)]
    assert [finish(each).split()[0] for each in running] == ["1"] * 4
    assert path.stat().st_ino == inode


def test_large_files_are_fetched_and_compared_too(tmp_path: Path) -> None:
    with world_in(tmp_path) as world:
        folder = tmp_path / "large" / "build" / "torch-cpu"
        folder.mkdir(parents=True)
        content = os.urandom(12_000_000)
        for name, data in kernel_files(binaries={"weights.bin": content}).items():
            (folder / name).write_bytes(data)
        (tmp_path / "large" / "CARD.md").write_text("---\nlicense: apache-2.0\n---\n")
        (tmp_path / "large" / ".gitattributes").write_text("*.bin filter=lfs -text\n")
        world.command("upload", str(tmp_path / "large"), "--repo-id", "acme/toy")
        assert world.load().startswith("1 ")
        (path,) = world.cache.rglob("weights.bin")
        assert path.read_bytes() == content
        os.truncate(path.resolve(), 5_000_000)
        world.requests()
        assert world.load().startswith("1 ")
        assert path.read_bytes() == content
        assert len(world.requests()) == 1, "the rest alone is asked for"
