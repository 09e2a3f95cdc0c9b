"""How long answers hold, and what stands in for a Hub that does not answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, unload_kernels

from kernelmill.runtime.errors import HubUnreachable, NotCached, NotTrusted, VersionNotFound
from kernelmill.runtime.hub.cached import CachedHub
from kernelmill.runtime.hub.remembered import RememberedHub
from kernelmill.runtime.session import Session
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.host import Host

TOY = "acme/toy"
DAY_S = 24 * 3600.0
COLD = ["trust", "refs", "folders", "files"]


@dataclass
class World:
    """A Hub in memory, its cache and a clock; each loading is that of a new process."""

    hub: MemoryHub
    cache: Cache
    host: Host
    time_s: float = 1_000_000.0
    max_age_s: float = DAY_S
    is_offline: bool = False
    connections: int = 0

    def session(self) -> Session:
        if self.is_offline:
            offline = CachedHub(endpoint=self.hub.endpoint, cache=self.cache)
            return Session(hub=offline, cache=self.cache, host=self.host)
        remembered = RememberedHub(
            endpoint=self.hub.endpoint,
            cache=self.cache,
            connect=self._connect,
            max_age_s=self.max_age_s,
            now=lambda: self.time_s,
        )
        return Session(hub=remembered, cache=self.cache, host=self.host)

    def load(
        self, *, version: int | None = None, revision: str | None = None, trust: Trust = False
    ) -> ModuleType:
        unload_kernels()
        self.hub.calls.clear()
        session = self.session()
        selection = session.select(TOY, version=version, revision=revision, trust_remote_code=trust)
        return session.load(selection)

    @property
    def questions(self) -> list[str]:
        """What the Hub was asked in the last loading, apart from files."""
        return [call for call in self.hub.calls if not call.startswith("download")]

    def _connect(self) -> MemoryHub:
        self.connections += 1
        return self.hub


@pytest.fixture
def world(hub: MemoryHub, cache: Cache, host: Host) -> World:
    publish(hub, "v1", 1)
    return World(hub, cache, host)


def publish(hub: MemoryHub, branch: str, value: object) -> str:
    return hub.publish(TOY, branch, {"torch-cpu": kernel_files(value=value)})


def test_cold_load_asks_four_questions_and_each_file_once(world: World) -> None:
    assert world.load(version=1).VALUE == 1
    assert world.questions == COLD
    downloads = [call for call in world.hub.calls if call.startswith("download")]
    assert sorted(downloads) == [
        "download build/torch-cpu/__init__.py",
        "download build/torch-cpu/metadata.json",
    ]


@pytest.mark.parametrize("wanted", [{"version": 1}, {"revision": "v1"}, {}, "commit"])
def test_warm_load_asks_nothing_and_opens_no_connection(world: World, wanted: object) -> None:
    commit = world.hub.repos[TOY].branches["v1"]
    arguments = {"revision": commit} if wanted == "commit" else wanted
    assert isinstance(arguments, dict)
    world.load(**arguments)
    world.connections = 0
    assert world.load(**arguments).VALUE == 1
    assert (world.hub.calls, world.connections) == ([], 0)


def test_branch_and_version_share_an_answer(world: World) -> None:
    world.load(version=1)
    world.load(revision="v1")
    assert world.questions == []


@pytest.mark.parametrize(
    ("max_age_s", "later_s", "asked"),
    [
        pytest.param(DAY_S, DAY_S - 1, [], id="fresh"),
        pytest.param(DAY_S, DAY_S, ["trust", "refs"], id="a-day-old"),
        pytest.param(DAY_S, -1, ["trust", "refs"], id="clock-set-back"),
        pytest.param(0.0, 0, ["trust", "refs"], id="always"),
        pytest.param(float("inf"), 1000 * DAY_S, [], id="never"),
    ],
)
def test_answers_about_branches_and_publishers_age(
    world: World, max_age_s: float, later_s: float, asked: list[str]
) -> None:
    world.load(version=1)
    world.max_age_s = max_age_s
    world.time_s += later_s
    world.load(version=1)
    assert world.questions == asked, "what is known of a commit holds for ever"


def test_moved_branch_is_loaded_after_a_day(world: World) -> None:
    world.load(version=1)
    publish(world.hub, "v1", "moved")
    assert world.load(version=1).VALUE == 1
    world.time_s += DAY_S
    assert world.load(version=1).VALUE == "moved"


def test_version_that_is_new_is_asked_for_at_once(world: World) -> None:
    world.load(version=1)
    publish(world.hub, "v2", 2)
    assert world.load(version=2).VALUE == 2
    with pytest.raises(VersionNotFound, match="Version 3 not found, available versions: 1, 2"):
        world.load(version=3)


def test_no_is_asked_again_each_time(world: World) -> None:
    world.hub.trusted.clear()
    for _ in range(2):
        with pytest.raises(NotTrusted, match="is not from a trusted publisher"):
            world.load(version=1)
        assert world.questions == ["trust"]
    world.hub.trusted.add("acme")
    assert world.load(version=1).VALUE == 1


def test_publisher_that_lost_its_standing_is_refused_after_a_day(world: World) -> None:
    world.load(version=1)
    world.hub.trusted.clear()
    assert world.load(version=1).VALUE == 1
    world.time_s += DAY_S
    with pytest.raises(NotTrusted):
        world.load(version=1)
    world.is_offline = True
    with pytest.raises(NotTrusted, match="is not from a trusted publisher"):
        world.load(version=1)


def test_offline_needs_the_allow_again_where_only_that_let_a_kernel_in(world: World) -> None:
    world.hub.trusted.clear()
    world.load(version=1, trust=True)
    world.is_offline = True
    with pytest.raises(NotTrusted, match="is not known to have vouched for 'acme' before") as no:
        world.load(version=1)
    assert no.value.hint == "load it once with the network on (HF_HUB_OFFLINE unset)"
    assert world.load(version=1, trust=[TOY]).VALUE == 1


@pytest.mark.parametrize("first", [{"version": 1}, {"revision": "v1"}, {}])
@pytest.mark.parametrize("then", [{"version": 1}, {"revision": "v1"}, {}, "commit"])
@pytest.mark.parametrize("is_flagged", [True, False])
def test_loaded_kernel_loads_again_without_the_network(
    world: World,
    caplog: pytest.LogCaptureFixture,
    first: dict[str, Any],
    then: dict[str, Any] | str,
    is_flagged: bool,
) -> None:
    """O1, O2, O3, R4, R18."""
    commit = world.hub.repos[TOY].branches["v1"]
    world.load(**first)
    publish(world.hub, "v1", "moved")
    world.hub.is_down, world.is_offline = True, is_flagged
    world.time_s += 30 * DAY_S
    caplog.clear()
    arguments = {"revision": commit} if isinstance(then, str) else then
    assert world.load(**arguments).VALUE == 1
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    silence = ["the Hub does not answer (down); using what was fetched from it before"]
    assert warnings == ([] if is_flagged else silence)
    assert world.hub.calls == ([] if is_flagged else ["trust"]), "a silent Hub is asked once"


@pytest.mark.parametrize("wanted", [{"version": 1}, {"revision": "v1"}, {}])
def test_build_that_is_here_loads_when_the_branch_moved_and_then_the_network_went(
    world: World, wanted: dict[str, Any]
) -> None:
    """The fresh answer leads to a build that is not here, so it does not count."""
    world.load(version=1)
    moved = publish(world.hub, "v1", "moved")
    world.time_s += DAY_S
    world.session().hub.fetch_refs(RepoId.parse(TOY))
    world.session().hub.fetch_folders(RepoId.parse(TOY), moved, "build")
    world.hub.is_down = True
    assert world.load(**wanted).VALUE == 1


def test_newer_version_that_was_only_looked_at_is_not_loaded_without_the_network(
    world: World,
) -> None:
    world.load(version=1)
    publish(world.hub, "v2", 2)
    session = world.session()
    session.check(session.select(TOY, version=2))
    world.hub.is_down = True
    assert world.load().VALUE == 1
    world.is_offline = True
    assert world.load().VALUE == 1
    with pytest.raises(VersionNotFound, match="Version 2 of 'acme/toy' is not available in the lo"):
        world.load(version=2)


def test_silent_hub_is_the_error_when_memory_has_no_answer(world: World) -> None:
    world.load(version=1)
    world.time_s += DAY_S
    world.hub.is_down = True
    wanted: dict[str, Any]
    for wanted in ({"version": 2}, {"revision": "main"}, {"revision": "0" * 40}):
        with pytest.raises(HubUnreachable, match=r"the Hub does not answer \(down\)"):
            world.load(**wanted)


def test_news_of_a_version_comes_from_what_is_known(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """H8: a line when online, none offline, and no call for it."""
    publish(world.hub, "v3", 3)
    world.load(version=1)
    caplog.clear()
    world.load(version=1)
    news = "You are using version 1 of 'acme/toy', but version 3 is available."
    assert (caplog.messages.count(news), world.hub.calls) == (1, [])
    world.is_offline = True
    caplog.clear()
    world.load(version=1)
    assert news not in caplog.messages


def test_lists_of_builds_use_the_same_answers(world: World) -> None:
    world.load(version=1)
    world.hub.calls.clear()
    session = world.session()
    assert str(session.look_up(RepoId.parse(TOY), version=1).resolution.chosen) == "torch-cpu"
    session.check(session.select(TOY, version=1))
    assert world.hub.calls == []


def test_answers_of_one_hub_are_not_those_of_another(world: World, cache: Cache) -> None:
    world.load(version=1)
    other = MemoryHub(endpoint="http://other.test", trusted=set())
    elsewhere = replace(cache, root=cache.root / "endpoints" / "other")
    stranger = World(other, elsewhere, world.host)
    publish(other, "v1", "other")
    with pytest.raises(NotTrusted):
        stranger.load(version=1)
    assert stranger.load(version=1, trust=True).VALUE == "other"
    assert world.load(version=1).VALUE == 1


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b'{"format":1}', b'{"format":2}'])
def test_damaged_record_is_as_if_it_were_not_there(world: World, text: bytes) -> None:
    world.load(version=1)
    for path in [*world.cache.root.rglob("answers/**/*.json"), *world.cache.root.glob("org*/*")]:
        path.write_bytes(text)
    assert world.load(version=1).VALUE == 1
    assert world.questions == COLD


@pytest.mark.parametrize(
    "change",
    [{"branches": {"v1": "../../x"}}, {"branches": []}, {"asked_at": "now"}, {"revisions": [1]}],
)
def test_odd_listing_is_asked_for_again(world: World, change: dict[str, object]) -> None:
    world.load(version=1)
    (path,) = world.cache.root.rglob("refs.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert world.load(version=1).VALUE == 1
    assert world.questions == ["refs"]


def test_answers_are_not_needed_to_be_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache on a full disk, or of somebody else: asked each time, and loaded all the same."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("kernelmill.runtime.records.write_whole", refuse)
    world.load(version=1)
    assert world.load(version=1).VALUE == 1
    assert world.questions == ["trust", "refs", "folders", "files"]


def test_cached_hub_refuses_what_it_does_not_hold(world: World) -> None:
    world.load(version=1)
    hub = CachedHub(endpoint=world.hub.endpoint, cache=world.cache)
    with pytest.raises(NotCached, match="revision 'main' of 'acme/toy' is not in the cache"):
        hub.fetch_commit(RepoId.parse(TOY), "main")
