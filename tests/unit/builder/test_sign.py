"""``kernel-builder keygen`` and ``sign``."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from kernelmill.builder import signing
from kernelmill.builder.cli import main
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec import signature as signature_format
from kernelmill.spec.backend import Backend
from kernelmill.spec.digest import digest_files
from kernelmill.spec.metadata import Metadata

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VARIABLE = "KERNEL_BUILDER_KEY_PASSPHRASE"
PEM = serialization.Encoding.PEM


@pytest.fixture(autouse=True)
def nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """No passphrase in the environment, and no terminal."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())


def write_build(root: Path, name: str = "torch-cpu", *, has_digest: bool = True) -> Path:
    files = {"__init__.py": f"NAME = {name!r}\n".encode()}
    digest = digest_files(files.items()) if has_digest else None
    metadata = Metadata(
        name="toy", id="_toy_1", version=1, license="MIT", backend=Backend.CPU, digest=digest
    )
    files["metadata.json"] = metadata_format.dumps(metadata).encode()
    folder = root / "build" / name
    folder.mkdir(parents=True)
    for path, content in files.items():
        (folder / path).write_bytes(content)
    return folder


def make_key(tmp_path: Path, name: str = "key.pem") -> Path:
    path = tmp_path / name
    signing.generate_key(path, passphrase=None)
    return path


def public_of(path: Path) -> ed25519.Ed25519PublicKey:
    """Read the public half as any other program would."""
    key = serialization.load_pem_public_key(path.with_name(f"{path.name}.pub").read_bytes())
    assert isinstance(key, ed25519.Ed25519PublicKey)
    return key


def signatures_of(folder: Path) -> Mapping[str, bytes]:
    found = signature_format.parse((folder / "metadata.json.sig").read_text())
    return {each.key_id: each.value for each in found.signatures}


def test_key_is_made_once_and_kept_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key.pem"
    old = os.umask(0)
    try:
        assert main(["keygen", str(key)]) == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    assert isinstance(private, ed25519.Ed25519PrivateKey)
    assert private.public_key() == public_of(key)
    printed = capsys.readouterr()
    (public,) = signature_format.parse_public_keys((tmp_path / "key.pem.pub").read_text(), where="")
    assert printed.out == f"{public.key_id}\n"
    assert key.read_text().splitlines()[1] not in printed.out + printed.err
    before = key.read_bytes()
    assert main(["keygen", str(key)]) == 2
    assert "is there already, and a key that is lost" in capsys.readouterr().err
    assert key.read_bytes() == before


@pytest.mark.parametrize("there", ["key.pem", "key.pem.pub"])
def test_nothing_is_overwritten(
    tmp_path: Path, there: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / there).symlink_to("nowhere")
    assert main(["keygen", str(tmp_path / "key.pem")]) == 2
    assert f"{tmp_path / there}: is there already" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("key")] == [there]


def test_keygen_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keygen", str(tmp_path / "k"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.pop("key_id")
    assert document == {
        "version": 1,
        "private": str(tmp_path / "k"),
        "public": str(tmp_path / "k.pub"),
        "is_encrypted": False,
    }


def test_every_build_is_signed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builds = [write_build(tmp_path, name) for name in ("torch-cpu", "torch-rocm")]
    key = make_key(tmp_path)
    assert main(["sign", str(tmp_path), "--key", str(key)]) == 0
    printed = capsys.readouterr().out
    for build in builds:
        ((key_id, value),) = signatures_of(build).items()
        metadata = (build / "metadata.json").read_bytes()
        public_of(key).verify(value, b"kernelmill:metadata.json:1\n" + metadata)
        assert f"signed {build.name} with {key_id}\n" in printed
    assert sorted(each.name for each in builds[0].iterdir()) == [
        "__init__.py",
        "metadata.json",
        "metadata.json.sig",
    ]
    assert sorted(each.name for each in (tmp_path / "build").iterdir()) == [
        "torch-cpu",
        "torch-rocm",
    ]


def test_what_other_readers_make_of_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyPI's kernels 0.17.2 knows no metadata.json.sig, and looks only where there is a bundle."""
    (write_build(tmp_path) / "metadata.json.sigstore").write_text("{}")
    write_build(tmp_path, "torch-rocm")
    assert main(["sign", str(tmp_path), "--key", str(make_key(tmp_path))]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("torch-cpu also has a sigstore bundle: Hugging Face's `kernels verify")


def test_signing_again_gives_the_same_bytes(tmp_path: Path) -> None:
    build, key = write_build(tmp_path), make_key(tmp_path)
    assert main(["sign", str(build), "--key", str(key)]) == 0
    before = (build / "metadata.json.sig").read_bytes()
    assert main(["sign", str(tmp_path), "--key", str(key)]) == 0
    assert (build / "metadata.json.sig").read_bytes() == before


def test_several_keys_sign_and_others_stay_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build = write_build(tmp_path)
    old, new, third = (str(make_key(tmp_path, name)) for name in ("old", "new", "third"))
    assert main(["sign", str(tmp_path), "--key", old, "--key", new]) == 0
    assert len(signatures_of(build)) == 2
    assert main(["sign", str(tmp_path), "--key", third, "--add"]) == 0
    assert len(signatures_of(build)) == 3
    capsys.readouterr()
    assert main(["sign", str(tmp_path), "--key", third, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "version": 1,
        "variants": ["torch-cpu"],
        "key_ids": list(signatures_of(build)),
    }


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        pytest.param("__init__.py", b"evil", "File hash mismatch for __init__.py", id="changed"),
        pytest.param("new.py", b"", "Unknown file: new.py", id="added"),
        pytest.param("metadata.json", b"{}", "missing key", id="no-metadata"),
        pytest.param("metadata.json", b"\xff", "not UTF-8 text", id="no-text"),
    ],
)
def test_nothing_is_signed_unless_everything_is_as_it_was_built(
    tmp_path: Path, path: str, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    builds = [write_build(tmp_path, name) for name in ("torch-cpu", "torch-rocm")]
    (builds[1] / path).write_bytes(content)
    assert main(["sign", str(tmp_path), "--key", str(make_key(tmp_path))]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.sig"))


def test_build_without_digest_is_not_signed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_build(tmp_path, has_digest=False)
    assert main(["sign", str(tmp_path), "--key", str(make_key(tmp_path))]) == 2
    errors = capsys.readouterr().err
    assert "there is no digest, so a signature would say nothing about the files" in errors
    assert "build it again with `kernel-builder build`" in errors


def test_there_has_to_be_a_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", str(tmp_path), "--key", str(make_key(tmp_path))]) == 2
    assert "no build variants here" in capsys.readouterr().err


def test_encrypted_key_needs_its_passphrase(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build, key = write_build(tmp_path), tmp_path / "key.pem"
    monkeypatch.setenv(VARIABLE, "correct horse")
    assert main(["keygen", str(key)]) == 0
    assert "ENCRYPTED" in key.read_text()
    assert "(encrypted)" in capsys.readouterr().err
    assert main(["sign", str(tmp_path), "--key", str(key)]) == 0
    assert len(signatures_of(build)) == 1
    monkeypatch.setenv(VARIABLE, "wrong")
    assert main(["sign", str(tmp_path), "--key", str(key)]) == 2
    assert f"{key}: wrong passphrase" in capsys.readouterr().err
    monkeypatch.delenv(VARIABLE)
    assert main(["sign", str(tmp_path), "--key", str(key)]) == 2
    assert f"this key needs a passphrase\n  hint: set {VARIABLE}" in capsys.readouterr().err
    assert main(["keygen", str(tmp_path / "other"), "--passphrase"]) == 2
    assert "there is no terminal to type a passphrase on" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_passphrase_is_typed_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = ["one", "two", "one", "one", "one"]
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _: answers.pop(0))
    key = tmp_path / "key.pem"
    assert main(["keygen", str(key), "--passphrase"]) == 2
    assert "not the same one twice" in capsys.readouterr().err
    assert main(["keygen", str(key), "--passphrase"]) == 0
    write_build(tmp_path)
    assert main(["sign", str(tmp_path), "--key", str(key)]) == 0
    assert answers == []


def test_other_keys_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_build(tmp_path)
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    make_key(tmp_path)
    public = (tmp_path / "key.pem.pub").read_bytes()
    path = tmp_path / "given"
    for content, words in (
        (curve, "not an ed25519 key"),
        (public, "not a private key in PEM"),
        (b"\xff" * 100, "not a private key in PEM"),
        (b"-----BEGIN ENCRYPTED PRIVATE KEY-----", "not a private key in PEM"),
    ):
        path.write_bytes(content)
        assert main(["sign", str(tmp_path), "--key", str(path)]) == 2
        assert f"{path}: {words}" in capsys.readouterr().err
    assert main(["sign", str(tmp_path), "--key", str(tmp_path / "none")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err


def test_key_that_others_can_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_build(tmp_path)
    key = make_key(tmp_path)
    key.chmod(0o640)
    assert main(["sign", str(tmp_path), "--key", str(key)]) == 0
    assert f"others can read {key}: chmod 600 {key}" in capsys.readouterr().err


def test_key_does_not_show_itself(tmp_path: Path) -> None:
    key = signing.read_signing_key(make_key(tmp_path), lambda _: None)
    assert "private" not in repr(key).lower()


def test_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert main(["keygen", str(tmp_path / "k")]) == 3
    errors = capsys.readouterr().err
    assert "signing needs the package 'cryptography'" in errors
    assert 'pip install ".[signing]"' in errors
