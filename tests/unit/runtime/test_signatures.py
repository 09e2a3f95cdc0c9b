"""Builds signed with ed25519 keys: what is accepted, and every way of cheating we know of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import kernel_files, write_files
from tests.unit.runtime.signed_kernels import Signer, signed_files, write_signed

from kernelmill.runtime.errors import MissingDependency, NotSigned
from kernelmill.runtime.load import load_variant, read_metadata
from kernelmill.runtime.signatures import (
    DEFAULT_POLICIES,
    GitHubWorkflowPolicy,
    VerificationResult,
    ensure_signed,
    verify_variant,
)
from kernelmill.runtime.signatures.keys import read_trusted_keys
from kernelmill.runtime.signatures.settings import SignatureSettings, read_signature_settings
from kernelmill.spec.errors import InputError, SignatureError
from kernelmill.spec.signature import SignatureSet, Workflow, dumps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelmill.runtime.signatures.results import Result

ALICE, MALLORY = Signer(), Signer()
WORKFLOW = "https://github.com/acme/kernels/.github/workflows/build.yaml@refs/heads/main"


def verify(folder: Path, *signers: Signer, root: Path | None = None) -> Result:
    return verify_variant(folder, keys=[each.public for each in signers or (ALICE,)], root=root)


def reason_of(result: Result) -> str:
    assert isinstance(
        result,
        VerificationResult.SignatureBundleInvalid | VerificationResult.SignatureVerificationFailure,
    )
    return result.reason


def test_build_is_verified_by_its_key(tmp_path: Path) -> None:
    result = verify(write_signed(tmp_path, ALICE), MALLORY, ALICE)
    assert result == VerificationResult.Success(signer=f"key {ALICE.public.key_id}")


def test_path_may_be_text(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, ALICE)
    assert isinstance(verify_variant(str(folder), keys=[ALICE.public]), VerificationResult.Success)


def test_one_trusted_signature_of_several_is_enough(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, ALICE)
    metadata = (folder / "metadata.json").read_bytes()
    both = SignatureSet(signatures=(MALLORY.signature(b"else"), ALICE.signature(metadata)))
    (folder / "metadata.json.sig").write_text(dumps(both))
    assert isinstance(verify(folder, ALICE), VerificationResult.Success)
    assert isinstance(verify(folder, MALLORY, ALICE), VerificationResult.Success)
    assert "is not one of this metadata.json" in reason_of(verify(folder, MALLORY))


def test_signature_is_not_asked_of_sigstore_when_keys_are_named(tmp_path: Path) -> None:
    files = kernel_files() | {"metadata.json.sigstore": b"{}"}
    folder = write_files(tmp_path / "torch-cpu", files)
    assert verify(folder) == VerificationResult.SignatureBundleMissing()


# Each takes a signed build, and does something to it that whoever signed did not.


def edit_metadata(folder: Path) -> None:
    path = folder / "metadata.json"
    path.write_text(path.read_text().replace('"Apache-2.0"', '"MIT"'))


def reformat_metadata(folder: Path) -> None:
    path = folder / "metadata.json"
    path.write_text(json.dumps(json.loads(path.read_text())))


def take_signature_of_another_build(folder: Path) -> None:
    other = signed_files(ALICE, value=2)
    (folder / "metadata.json.sig").write_bytes(other["metadata.json.sig"])


def sign_something_else(folder: Path) -> None:
    """A signature of the same bytes that was made for another purpose."""
    metadata = (folder / "metadata.json").read_bytes()
    other = ALICE.signature(metadata, domain=b"")
    (folder / "metadata.json.sig").write_text(dumps(SignatureSet(signatures=(other,))))


def remove_digest(folder: Path) -> None:
    path = folder / "metadata.json"
    document = json.loads(path.read_text())
    del document["digest"]
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    "cheat",
    [
        edit_metadata,
        reformat_metadata,
        take_signature_of_another_build,
        sign_something_else,
        remove_digest,
    ],
)
def test_signature_covers_exactly_this_metadata(
    tmp_path: Path, cheat: Callable[[Path], None]
) -> None:
    folder = write_signed(tmp_path, ALICE)
    cheat(folder)
    assert reason_of(verify(folder)) == (
        f"the signature by {ALICE.public.key_id} is not one of this metadata.json"
    )


def test_key_that_is_not_trusted_is_named(tmp_path: Path) -> None:
    assert reason_of(verify(write_signed(tmp_path, MALLORY))) == (
        f"no trusted key signed it; it was signed by {MALLORY.public.key_id}"
    )


def test_key_id_is_a_hint_and_no_proof(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, MALLORY)
    path = folder / "metadata.json.sig"
    path.write_text(path.read_text().replace(MALLORY.public.key_id, ALICE.public.key_id))
    assert "is not one of this metadata.json" in reason_of(verify(folder))


def test_metadata_is_not_parsed_before_its_signature_holds(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, ALICE)
    (folder / "metadata.json").write_bytes(b"\xff not even text")
    assert isinstance(verify(folder), VerificationResult.SignatureVerificationFailure)


def test_signed_metadata_has_to_be_metadata(tmp_path: Path) -> None:
    for content, words in ((b"{}", "missing key"), (b"\xff", "utf-8"), (b"[1", "not valid JSON")):
        files = {"metadata.json": content, "metadata.json.sig": ALICE.file(content)}
        result = verify(write_files(tmp_path / "kernel", files))
        assert isinstance(result, VerificationResult.MetadataInvalid)
        assert words in result.reason


def test_signed_metadata_without_digest_says_nothing_of_files(tmp_path: Path) -> None:
    files = signed_files(ALICE, has_digest=False)
    assert verify(write_files(tmp_path / "torch-cpu", files)) == VerificationResult.DigestMissing()


@pytest.mark.parametrize(
    ("path", "content", "violation"),
    [
        pytest.param("__init__.py", b"import os\n", "File hash mismatch", id="edit"),
        pytest.param("extra.py", b"", "Unknown file: extra.py", id="added"),
        pytest.param("extra.pyc", b"", "Unknown file: extra.pyc", id="bytecode"),
        pytest.param("sub/metadata.json.sig", b"", "Unknown file: sub/metadata", id="not-ours"),
    ],
)
def test_files_are_those_that_were_signed(
    tmp_path: Path, path: str, content: bytes, violation: str
) -> None:
    folder = write_files(write_signed(tmp_path, ALICE), {path: content})
    result = verify(folder)
    assert isinstance(result, VerificationResult.DigestVerificationFailure)
    assert result.violations[0].startswith(violation)


def test_removed_file_is_missed(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, ALICE)
    (folder / "__init__.py").unlink()
    result = verify(folder)
    assert result == VerificationResult.DigestVerificationFailure(
        violations=["Missing file: __init__.py"]
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "not a signature file", id="empty"),
        pytest.param(b"\xff\xfe", "utf-8", id="no-text"),
        pytest.param(b'{"version": 1, "signa', "not a signature file", id="truncated"),
        pytest.param(b" " * 20_000_000, "has more than 16384 bytes", id="huge"),
    ],
)
def test_unreadable_signature_file_is_no_signature(
    tmp_path: Path, content: bytes, words: str
) -> None:
    folder = write_signed(tmp_path, ALICE)
    (folder / "metadata.json.sig").write_bytes(content)
    result = verify(folder)
    assert isinstance(result, VerificationResult.SignatureBundleInvalid)
    assert words in result.reason


def test_extra_field_in_a_signature_file_is_refused(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, ALICE)
    path = folder / "metadata.json.sig"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"trusted": True}))
    assert "trusted: unknown key 'trusted'" in reason_of(verify(folder))


def test_huge_signature_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_signed(tmp_path, ALICE)
    os.truncate(folder / "metadata.json.sig", 1 << 40)  # a hole of one tebibyte
    assert "has more than 16384 bytes" in reason_of(verify(folder))


def test_huge_metadata_is_not_read(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, ALICE)
    os.truncate(folder / "metadata.json", 1 << 40)
    result = verify(folder)
    assert isinstance(result, VerificationResult.MetadataInvalid)
    assert "metadata.json has more than" in result.reason


@pytest.mark.parametrize("name", ["metadata.json.sig", "metadata.json"])
def test_link_out_of_the_folder_is_not_followed(tmp_path: Path, name: str) -> None:
    folder = write_signed(tmp_path / "cache", ALICE)
    outside = tmp_path / "outside"
    (folder / name).rename(outside)
    (folder / name).symlink_to(outside)
    result = verify(folder)
    assert f"{name} is a link out of {folder}" in getattr(result, "reason", "")
    assert isinstance(verify(folder, root=tmp_path), VerificationResult.Success)


def test_loop_of_links_is_no_signature(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, ALICE)
    (folder / "metadata.json.sig").unlink()
    (folder / "metadata.json.sig").symlink_to("metadata.json.sig")
    assert "metadata.json.sig cannot be read" in reason_of(verify(folder))


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, ALICE)
    (folder / "metadata.json.sig").unlink()
    os.mkfifo(folder / "metadata.json.sig")
    assert "metadata.json.sig is not a regular file" in reason_of(verify(folder))


def test_links_into_the_cache_are_followed(tmp_path: Path) -> None:
    """The files of a snapshot in huggingface_hub's cache are links to its blobs."""
    repo = tmp_path / "hub" / "kernels--acme--toy"
    folder = repo / "snapshots" / "0" / "build" / "torch-cpu"
    folder.mkdir(parents=True)
    write_files(repo / "blobs", signed_files(ALICE))
    for blob in (repo / "blobs").iterdir():
        (folder / blob.name).symlink_to(blob)
    assert isinstance(verify(folder), VerificationResult.Success)


def test_missing_pieces_have_their_order(tmp_path: Path) -> None:
    assert verify(tmp_path) == VerificationResult.SignatureBundleMissing()
    (tmp_path / "metadata.json.sig").write_bytes(b"{}")
    assert isinstance(verify(tmp_path), VerificationResult.SignatureBundleInvalid)
    (tmp_path / "metadata.json.sig").write_bytes(ALICE.file(b"{}"))
    assert verify(tmp_path) == VerificationResult.MetadataMissing()


def test_results_can_be_matched_by_position_and_by_name() -> None:
    match VerificationResult.SignatureBundleInvalid("why"):
        case VerificationResult.SignatureBundleInvalid(reason=reason):
            assert reason == "why"
    match VerificationResult.DigestVerificationFailure(violations=[]):
        case VerificationResult.DigestVerificationFailure(violations):
            assert violations == []


def test_workflow_policy_needs_a_workflow() -> None:
    with pytest.raises(ValueError, match="At least one signer URI must be provided"):
        GitHubWorkflowPolicy(repo_id="acme/kernels", signer_uris=[])


def test_default_policy_is_the_community() -> None:
    (policy,) = DEFAULT_POLICIES
    assert isinstance(policy, GitHubWorkflowPolicy)
    assert policy.repo_id == "huggingface/kernels-community"
    assert [uri.rpartition("/workflows/")[2] for uri in policy.signer_uris] == [
        "build.yaml@refs/heads/main",
        "build-mac.yaml@refs/heads/main",
        "build-windows.yaml@refs/heads/main",
        "sign-old-builds.yaml@refs/heads/main",
    ]


def test_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_signed(tmp_path, ALICE)
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(MissingDependency, match="needs the package 'cryptography'") as caught:
        verify(folder)
    assert '".[signing]"' in caught.value.hint


# The files of keys.


def test_keys_come_from_files_and_folders(tmp_path: Path) -> None:
    ALICE.write_public(tmp_path / "alice.pem")
    MALLORY.write_public(tmp_path / "b.pub")
    (tmp_path / "README").write_text("ours")
    assert read_trusted_keys(tmp_path / "alice.pem") == (ALICE.public,)
    assert read_trusted_keys(tmp_path) == (ALICE.public, MALLORY.public)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("none.pem", None, "cannot be read: No such file", id="missing"),
        pytest.param("a.pem", b"", "holds no public key", id="empty"),
        pytest.param("a.pem", b"\xff", "not a PEM file", id="binary"),
        pytest.param("a.pem", b" " * 2_000_000, "too large for a file of keys", id="huge"),
        pytest.param("", None, "there is no public key", id="empty-folder"),
    ],
)
def test_unusable_keys_are_an_error_and_not_nobody(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SignatureError) as caught:
        read_trusted_keys(tmp_path / name)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / name))


# What the environment asks for.


def test_nothing_is_required_by_default() -> None:
    assert read_signature_settings({}) == SignatureSettings()
    assert not read_signature_settings({"KERNELS_REQUIRE_SIGNATURE": "0"}).is_required


def test_naming_somebody_requires_a_signature(tmp_path: Path) -> None:
    named = {"KERNELS_TRUSTED_KEYS": f"{tmp_path / 'a'}:{tmp_path / 'b'}"}
    settings = read_signature_settings(named | {"KERNELS_REQUIRE_SIGNATURE": "0"})
    assert settings.is_required
    assert settings.key_paths == (tmp_path / "a", tmp_path / "b")
    settings = read_signature_settings({"KERNELS_TRUSTED_WORKFLOWS": f" {WORKFLOW}\n"})
    assert settings.is_required
    assert settings.workflows == (Workflow(repo_id="acme/kernels", signer_uri=WORKFLOW),)


@pytest.mark.parametrize("text", ["ture", "2", "required"])
def test_unclear_answer_is_not_a_no(text: str) -> None:
    with pytest.raises(InputError, match="is neither yes nor no") as caught:
        read_signature_settings({"KERNELS_REQUIRE_SIGNATURE": text})
    assert str(caught.value).startswith("KERNELS_REQUIRE_SIGNATURE: ")


# The gate before an import.


def settings_for(tmp_path: Path, *signers: Signer) -> SignatureSettings:
    paths = [
        signer.write_public(tmp_path / "trusted" / f"{number}.pem")
        for number, signer in enumerate(signers)
    ]
    return SignatureSettings(is_required=True, key_paths=tuple(paths))


def test_gate_is_open_when_nothing_is_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KERNELS_TRUSTED_KEYS", "KERNELS_REQUIRE_SIGNATURE", "KERNELS_TRUSTED_WORKFLOWS"):
        monkeypatch.delenv(name, raising=False)
    ensure_signed(tmp_path / "nothing")


def test_gate_lets_signed_kernels_pass(tmp_path: Path) -> None:
    folder = write_signed(tmp_path, ALICE)
    metadata = read_metadata(folder)
    ensure_signed(folder, settings_for(tmp_path, ALICE), metadata=metadata)


@pytest.mark.parametrize(
    ("cheat", "words"),
    [
        pytest.param(edit_metadata, "metadata signature verification failed", id="edited"),
        pytest.param(
            lambda folder: (folder / "metadata.json.sig").unlink(), "signature not found", id="none"
        ),
        pytest.param(remove_digest, "signature verification failed", id="no-digest"),
    ],
)
def test_gate_refuses_the_rest(tmp_path: Path, cheat: Callable[[Path], None], words: str) -> None:
    folder = write_signed(tmp_path, ALICE)
    cheat(folder)
    with pytest.raises(NotSigned, match="is not signed by anybody who is trusted here") as caught:
        ensure_signed(folder, settings_for(tmp_path, ALICE))
    assert words in caught.value.problem
    assert "KERNELS_TRUSTED_KEYS" in caught.value.hint


def test_gate_refuses_a_key_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_signed(tmp_path, MALLORY)
    monkeypatch.setenv("KERNELS_TRUSTED_KEYS", str(ALICE.write_public(tmp_path / "a.pem")))
    with pytest.raises(NotSigned, match=f"it was signed by {MALLORY.public.key_id}"):
        ensure_signed(folder)


def test_gate_is_closed_when_the_keys_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELS_TRUSTED_KEYS", str(tmp_path / "nowhere"))
    with pytest.raises(SignatureError, match="cannot be read: No such file"):
        ensure_signed(write_signed(tmp_path, ALICE))


def test_gate_asks_the_default_policies_when_nobody_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotSigned, match="signature not found"):
        ensure_signed(write_signed(tmp_path, ALICE), SignatureSettings(is_required=True))


def test_gate_compares_what_is_loaded_with_what_was_signed(tmp_path: Path) -> None:
    """Whoever can write to the cache shows one file to the loader, and another one to the gate."""
    folder = write_signed(tmp_path, ALICE, value=1)
    loaded = read_metadata(write_files(tmp_path / "evil" / "torch-cpu", kernel_files(value=666)))
    with pytest.raises(NotSigned, match="was exchanged while it was loaded"):
        ensure_signed(folder, settings_for(tmp_path, ALICE), metadata=loaded)


# Others who meet signature files.


def test_signed_build_loads(tmp_path: Path) -> None:
    files = signed_files(ALICE) | {"metadata.json.sigstore": b"{}"}
    folder = write_files(tmp_path / "torch-cpu", files)
    assert load_variant(folder, root=folder).VALUE == 1


def test_neither_sigstore_nor_cryptography_is_imported_early() -> None:
    code = (
        "import sys, kernels, kernelmill.runtime.signatures as s; s.ensure_signed('.')\n"
        "print([n for n in sys.modules if n.partition('.')[0] in ('sigstore', 'cryptography')])"
    )
    environment = {key: value for key, value in os.environ.items() if "KERNELS_" not in key}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "[]\n"
