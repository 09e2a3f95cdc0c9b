from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelmill.runtime.settings import read_settings
from kernelmill.spec.errors import InputError

HOME = Path.home()


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        pytest.param({}, HOME / ".cache/huggingface/hub", id="nothing"),
        pytest.param({"XDG_CACHE_HOME": "/x"}, Path("/x/huggingface/hub"), id="xdg"),
        pytest.param({"HF_HOME": "/h", "XDG_CACHE_HOME": "/x"}, Path("/h/hub"), id="home"),
        pytest.param({"HF_HUB_CACHE": "/c", "HF_HOME": "/h"}, Path("/c"), id="hub-cache"),
        pytest.param({"KERNELS_CACHE": "/k", "HF_HUB_CACHE": "/c"}, Path("/k"), id="kernels-cache"),
        pytest.param({"KERNELS_CACHE": "~/k"}, HOME / "k", id="home-sign"),
        pytest.param({"KERNELS_CACHE": "", "HF_HOME": "/h"}, Path("/h/hub"), id="empty-is-unset"),
    ],
)
def test_cache_folder_is_the_first_that_is_named(env: dict[str, str], folder: Path) -> None:
    assert read_settings(env).cache_dir == folder


def test_each_endpoint_but_the_public_one_has_a_folder_of_its_own() -> None:
    endpoints = [
        "https://huggingface.co",
        "https://huggingface.co/",
        "http://127.0.0.1:8080",
        "http://127.0.0.1:8081",
        "https://127.0.0.1:8080",
        "http://127.0.0.1:8080/hub",
    ]
    env = {"KERNELS_CACHE": "/k"}
    folders = [read_settings({**env, "HF_ENDPOINT": each}).cache_dir for each in endpoints]
    assert folders[:2] == [Path("/k"), Path("/k")]
    assert len(set(folders)) == 5
    assert all(each.is_relative_to("/k/endpoints") for each in folders[2:])
    assert folders[2].name.startswith("127.0.0.1-8080-")


def test_endpoint_is_refused_when_it_holds_a_password() -> None:
    with pytest.raises(InputError, match=r"'http://hub.test' holds a user or a pass") as caught:
        read_settings({"HF_ENDPOINT": "http://user:secret@hub.test"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "hub.test",
        "ftp://hub.test",
        "https://",
        "localhost:8080",
        "http://hub.test:99999",
        "http://hub.test:0",
        "http://[hub.test",
        "http://hub.test/?a=b",
        "http://hub.test#a",
        "http://hub .test",
        "http://hub\n.test",
        "http://h\u00fcb.test",
    ],
)
def test_endpoint_is_refused_when_it_is_no_url(text: str) -> None:
    with pytest.raises(InputError, match="is not the URL of a Hub") as caught:
        read_settings({"HF_ENDPOINT": text})
    assert str(caught.value).startswith(f"HF_ENDPOINT: {text!r}")


def test_refusal_of_an_endpoint_does_not_show_a_password() -> None:
    with pytest.raises(InputError, match=r"'http://hub.test:x' is not the URL") as caught:
        read_settings({"HF_ENDPOINT": "http://user:secret@hub.test:x"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KERNELS_CACHE", "~nobody-of-this-name/x"),
        ("HF_HOME", "~nobody-of-this-name"),
        ("LOCAL_KERNELS", "acme/toy=~nobody-of-this-name"),
    ],
)
def test_path_is_refused_when_its_home_is_unknown(name: str, value: str) -> None:
    with pytest.raises(InputError, match=f"{name}: '~nobody-of-this-name.*needs a home folder"):
        read_settings({name: value})


@pytest.mark.parametrize(
    ("env", "is_offline"),
    [
        ({}, False),
        ({"HF_HUB_OFFLINE": "0"}, False),
        ({"HF_HUB_OFFLINE": "1"}, True),
        ({"HF_HUB_OFFLINE": "true"}, True),
        ({"TRANSFORMERS_OFFLINE": "yes"}, True),
    ],
)
def test_offline_is_read_from_the_environment(env: dict[str, str], is_offline: bool) -> None:
    assert read_settings(env).is_offline is is_offline


def test_offline_is_believed_when_a_program_sets_it_in_huggingface_hub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert read_settings({}).is_offline


@pytest.mark.parametrize("entry", ["acme/toy", "acme/toy=", "=path"])
def test_local_kernels_are_refused_when_an_entry_is_half(entry: str) -> None:
    with pytest.raises(ValueError, match=f"Invalid LOCAL_KERNELS entry: {entry}. Expected format"):
        read_settings({"LOCAL_KERNELS": f"acme/other=/p:{entry}"})


def test_local_kernels_are_read() -> None:
    settings = read_settings({"LOCAL_KERNELS": "acme/toy=/a:acme/other=~/b"})
    assert settings.local_kernels == {"acme/toy": Path("/a"), "acme/other": HOME / "b"}


def test_import_of_kernels_imports_neither_torch_nor_huggingface_hub() -> None:
    script = (
        "import kernels, sys\n"
        "print({'torch', 'huggingface_hub', 'rich', 'filelock.asyncio'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("text", "age_s"),
    [("", 86400.0), ("never", float("inf")), ("always", 0.0), ("3600", 3600.0), ("0.5", 0.5)],
)
def test_time_after_which_the_hub_is_asked_again(text: str, age_s: float) -> None:
    assert read_settings({"HOME": "/h", "KERNELS_REVALIDATE": text}).max_age_s == age_s


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "1h"])
def test_time_is_refused_when_it_is_none(text: str) -> None:
    with pytest.raises(InputError, match=r"KERNELS_REVALIDATE: .* is not a time after which"):
        read_settings({"HOME": "/h", "KERNELS_REVALIDATE": text})


@pytest.mark.parametrize(("text", "is_strict"), [("1", True), ("yes", True), ("0", False)])
def test_strict_mode_is_switched_on(text: str, is_strict: bool) -> None:
    assert read_settings({"HOME": "/h", "KERNELS_STRICT": text}).is_strict is is_strict
