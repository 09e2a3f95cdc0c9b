"""What newcomers are told to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import kernels
from kernelmill.runtime.cache import Cache
from kernelmill.runtime.errors import NotTrusted
from kernelmill.runtime.files import shown_size
from kernelmill.runtime.hub.cached import CachedHub
from kernelmill.runtime.records import Records
from kernelmill.runtime.settings import read_settings
from kernelmill.runtime.trust import ensure_trusted
from kernelmill.spec.errors import InputError, InvalidName
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from pathlib import Path

TOY = RepoId.parse("acme/toy")


@pytest.mark.parametrize("path", ["./toy", "/opt/toy", "~/toy", "..", "here"])
def test_path_in_the_place_of_a_repository_is_told_apart(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidName, match="is not a repository id") as caught:
        kernels.get_kernel(path, version=1)
    assert caught.value.hint == f"a folder is loaded by get_local_kernel({path!r})"


def test_other_names_keep_their_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidName) as caught:
        kernels.get_kernel("toy", version=1)
    assert caught.value.hint == "write it as owner/name, such as kernels-community/gemm"


@pytest.mark.parametrize(
    ("said", "hint"),
    [(None, "load it once with the network on (HF_HUB_OFFLINE unset)"), (False, "")],
)
def test_network_is_advised_only_where_it_helps(
    said: bool | None, hint: str, tmp_path: Path
) -> None:
    hub = CachedHub(endpoint="https://hub", cache=Cache(root=tmp_path))
    if said is not None:
        Records(hub.cache).write_trust("acme", said)
    with pytest.raises(NotTrusted, match="Set trust_remote_code=True") as caught:
        ensure_trusted(hub, TOY, trust_remote_code=False)
    assert caught.value.hint == hint


def test_bad_variable_is_one_error_and_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.expanduser", lambda _: (_ for _ in ()).throw(RuntimeError()))
    with pytest.raises(InputError, match="needs a home folder, and there is none") as caught:
        read_settings({"KERNELS_CACHE": "~/cache"})
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (3400, "3.4 kB"), (12e6, "12.0 MB")],
)
def test_sizes_are_shown_in_units_that_fit(size_bytes: int, text: str) -> None:
    assert shown_size(int(size_bytes)) == text
