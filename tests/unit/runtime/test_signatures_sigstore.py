"""sigstore bundles, made by an instance of our own and verified by sigstore's own code."""

from __future__ import annotations

import base64
import json
import random
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.runtime.kernel_files import kernel_files, write_files
from tests.unit.runtime.local_sigstore import SIGNED_AT, Identity, LocalSigstore
from tests.unit.runtime.signed_kernels import Signer

from kernelmill.runtime.errors import MissingDependency, NotSigned
from kernelmill.runtime.signatures import (
    GitHubWorkflowPolicy,
    VerificationResult,
    ensure_signed,
    verify_variant,
)
from kernelmill.runtime.signatures import sigstore_bundle as bundles
from kernelmill.runtime.signatures.settings import SignatureSettings
from kernelmill.spec.errors import SignatureError
from kernelmill.spec.signature import parse_workflow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelmill.runtime.signatures.results import Result

INSTANCE = LocalSigstore()
ACME = Identity(repo_id="acme/kernels")
ACME_POLICY = GitHubWorkflowPolicy(repo_id="acme/kernels", signer_uris=[ACME.signer_uri])
BUNDLE = "metadata.json.sigstore"


@pytest.fixture
def trust_root(tmp_path: Path) -> Path:
    return INSTANCE.write_trust_root(tmp_path / "trusted_root.json")


def write_build(folder: Path, identity: Identity | None = None) -> Path:
    files = kernel_files()
    bundle = INSTANCE.sign(files["metadata.json"], identity)
    return write_files(folder / "torch-cpu", files | {BUNDLE: bundle})


def reason_of(result: Result) -> str:
    assert isinstance(result, VerificationResult.SignatureVerificationFailure), result
    return result.reason


def test_community_build_is_verified_by_default(tmp_path: Path, trust_root: Path) -> None:
    result = verify_variant(write_build(tmp_path), trust_root=trust_root)
    signer = "sigstore: a workflow of huggingface/kernels-community"
    assert result == VerificationResult.Success(signer=signer)


def test_other_workflow_is_verified_by_its_policy(tmp_path: Path, trust_root: Path) -> None:
    folder = write_build(tmp_path, ACME)
    result = verify_variant(folder, [ACME_POLICY], trust_root=trust_root)
    assert isinstance(result, VerificationResult.Success)
    assert "0 of 1 policies succeeded" in reason_of(verify_variant(folder, trust_root=trust_root))


@pytest.mark.parametrize(
    "identity",
    [
        pytest.param(Identity(repo_id="mallory/kernels-community"), id="repository"),
        pytest.param(Identity(workflow="other.yaml"), id="workflow"),
        pytest.param(Identity(ref="refs/pull/1/merge"), id="pull-request"),
        pytest.param(Identity(issuer="https://accounts.example.test"), id="issuer"),
        pytest.param(Identity(new_issuer="https://accounts.example.test"), id="new-issuer"),
        pytest.param(Identity(source="mallory/kernels"), id="sources"),
    ],
)
def test_identity_has_to_match_in_every_part(
    tmp_path: Path, trust_root: Path, identity: Identity
) -> None:
    result = verify_variant(write_build(tmp_path, identity), trust_root=trust_root)
    assert "0 of 1 policies succeeded" in reason_of(result)


def test_no_policy_accepts_nobody(tmp_path: Path, trust_root: Path) -> None:
    result = verify_variant(write_build(tmp_path), [], trust_root=trust_root)
    assert result == VerificationResult.SignatureBundleMissing()


def test_policies_and_keys_are_alternatives(tmp_path: Path, trust_root: Path) -> None:
    alice, mallory = Signer(), Signer()
    folder = write_build(tmp_path, ACME)
    metadata = (folder / "metadata.json").read_bytes()
    (folder / "metadata.json.sig").write_bytes(mallory.file(metadata))

    def verify(signer: Signer, policy: GitHubWorkflowPolicy) -> Result:
        return verify_variant(folder, [policy], keys=[signer.public], trust_root=trust_root)

    community = GitHubWorkflowPolicy(repo_id="a/b", signer_uris=["c"])
    assert isinstance(verify(alice, ACME_POLICY), VerificationResult.Success)
    assert isinstance(verify(mallory, community), VerificationResult.Success)
    reason = reason_of(verify(alice, community))
    assert "no trusted key signed it" in reason
    assert "0 of 1 policies succeeded" in reason
    (folder / "metadata.json.sig").write_bytes(b"{}")
    assert isinstance(verify(alice, ACME_POLICY), VerificationResult.Success)
    assert "missing key 'version'" in reason_of(verify(alice, community))


def test_edited_metadata_is_refused(tmp_path: Path, trust_root: Path) -> None:
    folder = write_build(tmp_path)
    path = folder / "metadata.json"
    path.write_bytes(path.read_bytes() + b"\n")
    result = verify_variant(folder, trust_root=trust_root)
    assert reason_of(result) == "Bundle message digest mismatch"


def test_bundle_of_another_build_is_refused(tmp_path: Path, trust_root: Path) -> None:
    folder = write_build(tmp_path)
    (folder / BUNDLE).write_bytes(INSTANCE.sign(kernel_files(value=2)["metadata.json"]))
    assert "digest mismatch" in reason_of(verify_variant(folder, trust_root=trust_root))


def test_changed_file_is_found(tmp_path: Path, trust_root: Path) -> None:
    folder = write_files(write_build(tmp_path), {"__init__.py": b"evil = 1\n"})
    result = verify_variant(folder, trust_root=trust_root)
    assert isinstance(result, VerificationResult.DigestVerificationFailure)
    assert result.violations[0].startswith("File hash mismatch for __init__.py")


def test_digest_is_required(tmp_path: Path, trust_root: Path) -> None:
    files = kernel_files(has_digest=False)
    files[BUNDLE] = INSTANCE.sign(files["metadata.json"])
    result = verify_variant(write_files(tmp_path / "torch-cpu", files), trust_root=trust_root)
    assert result == VerificationResult.DigestMissing()


def test_other_instance_is_not_believed(tmp_path: Path) -> None:
    other = LocalSigstore().write_trust_root(tmp_path / "other.json")
    result = verify_variant(write_build(tmp_path), trust_root=other)
    assert "certificate chain" in reason_of(result)


def test_public_instance_is_the_default_and_needs_no_network(tmp_path: Path) -> None:
    """The trust root that comes with sigstore is read, and does not know our certificates."""
    assert "certificate chain" in reason_of(verify_variant(write_build(tmp_path)))
    addresses = {log.base_url for log in bundles.read_trust_root(None)._inner.tlogs}
    assert "https://rekor.sigstore.dev" in addresses


def test_default_trust_root_is_read_without_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    bundles.read_trust_root(None)
    assert not (tmp_path / "home").exists()


def test_certificate_has_to_be_valid_when_the_log_saw_it(tmp_path: Path, trust_root: Path) -> None:
    files = kernel_files()
    late = INSTANCE.sign(files["metadata.json"], signed_at=SIGNED_AT + timedelta(hours=1))
    folder = write_files(tmp_path / "torch-cpu", files | {BUNDLE: late})
    assert "not valid at validation time" in reason_of(
        verify_variant(folder, trust_root=trust_root)
    )


def test_certificate_without_usage_is_a_result_and_no_crash(
    tmp_path: Path, trust_root: Path
) -> None:
    """sigstore lets cryptography's error for it pass."""
    folder = write_build(tmp_path, Identity(has_key_usage=False))
    assert "extension was found" in reason_of(verify_variant(folder, trust_root=trust_root))


# Parts of a bundle that somebody exchanged: each is signed, or signs.


def entry_of(bundle: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = bundle["verificationMaterial"]["tlogEntries"][0]
    return entry


def move_time(bundle: dict[str, Any]) -> None:
    entry = entry_of(bundle)
    entry["integratedTime"] = str(int(entry["integratedTime"]) + 1)


def exchange_neighbour(bundle: dict[str, Any]) -> None:
    entry_of(bundle)["inclusionProof"]["hashes"] = [base64.b64encode(b"x" * 32).decode()]


def exchange_checkpoint(bundle: dict[str, Any]) -> None:
    other = json.loads(LocalSigstore().sign(b"x"))
    proof = entry_of(bundle)["inclusionProof"]
    proof["checkpoint"] = entry_of(other)["inclusionProof"]["checkpoint"]


def exchange_promise(bundle: dict[str, Any]) -> None:
    other = json.loads(INSTANCE.sign(b"x"))
    entry_of(bundle)["inclusionPromise"] = entry_of(other)["inclusionPromise"]


def exchange_certificate(bundle: dict[str, Any]) -> None:
    other = json.loads(INSTANCE.sign(b"x"))
    material = bundle["verificationMaterial"]
    material["certificate"] = other["verificationMaterial"]["certificate"]


def exchange_entry(bundle: dict[str, Any]) -> None:
    other = json.loads(INSTANCE.sign(b"x"))
    bundle["verificationMaterial"]["tlogEntries"] = [entry_of(other)]


def exchange_signature(bundle: dict[str, Any]) -> None:
    other = json.loads(INSTANCE.sign(b"x"))
    bundle["messageSignature"]["signature"] = other["messageSignature"]["signature"]


@pytest.mark.parametrize(
    ("exchange", "words"),
    [
        pytest.param(move_time, "SET: invalid inclusion promise", id="time"),
        pytest.param(exchange_promise, "SET: invalid inclusion promise", id="promise"),
        pytest.param(exchange_neighbour, "invalid root hash", id="proof"),
        pytest.param(exchange_checkpoint, "checkpoint", id="checkpoint"),
        pytest.param(exchange_certificate, "Signature is invalid for input", id="certificate"),
        pytest.param(exchange_entry, "entry is inconsistent with other materials", id="entry"),
        pytest.param(exchange_signature, "Signature is invalid for input", id="signature"),
    ],
)
def test_every_part_of_a_bundle_is_checked(
    tmp_path: Path, trust_root: Path, exchange: Callable[[dict[str, Any]], None], words: str
) -> None:
    folder = write_build(tmp_path)
    bundle = json.loads((folder / BUNDLE).read_bytes())
    exchange(bundle)
    (folder / BUNDLE).write_text(json.dumps(bundle))
    assert words in reason_of(verify_variant(folder, trust_root=trust_root))


def leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    match value:
        case dict():
            return [path, *(it for key, each in value.items() for it in leaves(each, (*path, key)))]
        case list():
            return [
                path,
                *(it for key, each in enumerate(value) for it in leaves(each, (*path, key))),
            ]
    return [path]


def test_damaged_bundle_is_a_result_and_no_crash(tmp_path: Path, trust_root: Path) -> None:
    """Every value of a bundle, exchanged for values of other kinds."""
    folder = write_build(tmp_path)
    whole = (folder / BUNDLE).read_text()
    certificate = json.loads(whole)["verificationMaterial"]["certificate"]["rawBytes"]
    shuffled = bytearray(base64.b64decode(certificate))
    random.Random(1).shuffle(shuffled)
    broken = base64.b64encode(shuffled).decode()
    garbage: list[object] = [None, "AAAA", 10**30, str(10**15), [], {}, broken]
    paths = leaves(json.loads(whole))
    tried = 0
    for path in paths[1:]:
        for value in garbage:
            bundle = json.loads(whole)
            target = bundle
            for key in path[:-1]:
                target = target[key]
            if target[path[-1]] == value:
                continue
            target[path[-1]] = value
            (folder / BUNDLE).write_text(json.dumps(bundle))
            result = verify_variant(folder, trust_root=trust_root)
            tried += 1
            if not isinstance(result, VerificationResult.SignatureVerificationFailure):
                allowed = VerificationResult.SignatureBundleInvalid
                # What sigstore does not need: the digest beside the signature, and the log's own
                # number of the entry, which may be left out or be any.
                is_optional = "messageDigest" in path or path[-1] in {"keyId", "logId"}
                assert isinstance(result, allowed) or is_optional, (path, value, result)
    assert tried > 200


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "failed to load bundle", id="empty"),
        pytest.param(b"\xff", "failed to load bundle", id="binary"),
        pytest.param(b'{"mediaType": "x', "failed to load bundle", id="truncated"),
        pytest.param(b"[" * 100_000, "failed to load bundle", id="deep"),
        pytest.param(b" " * 3_000_000, "has more than 1048576 bytes", id="huge"),
    ],
)
def test_unreadable_bundle_is_invalid(
    tmp_path: Path, trust_root: Path, content: bytes, words: str
) -> None:
    folder = write_files(write_build(tmp_path), {BUNDLE: content})
    result = verify_variant(folder, trust_root=trust_root)
    assert isinstance(result, VerificationResult.SignatureBundleInvalid)
    assert words in result.reason
    assert len(result.reason) < 600


def test_link_out_of_the_folder_is_not_followed(tmp_path: Path, trust_root: Path) -> None:
    folder = write_build(tmp_path / "cache")
    (folder / BUNDLE).rename(tmp_path / "outside")
    (folder / BUNDLE).symlink_to(tmp_path / "outside")
    result = verify_variant(folder, trust_root=trust_root)
    assert isinstance(result, VerificationResult.SignatureBundleInvalid)
    assert f"{BUNDLE} is a link out of {folder}" in result.reason


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(None, "No such file", id="missing"),
        pytest.param("{}", "not a usable trust root", id="empty"),
        pytest.param("[", "not a usable trust root", id="broken"),
    ],
)
def test_unusable_trust_root_is_an_error(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "mine.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SignatureError) as caught:
        verify_variant(write_build(tmp_path), trust_root=path)
    assert str(caught.value).startswith(f"{path}: not a usable trust root")
    assert words in caught.value.problem
    assert "KERNELS_SIGSTORE_TRUST_ROOT" in caught.value.hint


def test_trust_root_without_logs_is_an_error(tmp_path: Path, trust_root: Path) -> None:
    trust_root.write_text(json.dumps(json.loads(trust_root.read_text()) | {"tlogs": []}))
    with pytest.raises(SignatureError, match="no transparency log instances"):
        verify_variant(write_build(tmp_path), trust_root=trust_root)


def test_missing_package_is_named_only_when_there_is_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sigstore.models", None)
    unsigned = write_files(tmp_path / "torch-cuda", kernel_files())
    assert verify_variant(unsigned) == VerificationResult.SignatureBundleMissing()
    with pytest.raises(MissingDependency, match="needs the package 'sigstore'") as caught:
        verify_variant(write_build(tmp_path))
    assert '".[sigstore]"' in caught.value.hint


def test_gate_accepts_a_workflow(tmp_path: Path, trust_root: Path) -> None:
    workflow = parse_workflow(ACME.signer_uri, where="test")
    settings = SignatureSettings(is_required=True, workflows=(workflow,), trust_root=trust_root)
    ensure_signed(write_build(tmp_path / "a", ACME), settings)
    with pytest.raises(NotSigned, match="0 of 1 policies succeeded"):
        ensure_signed(write_build(tmp_path / "b"), settings)
