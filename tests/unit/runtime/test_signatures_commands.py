"""``kernels verify-signature``, and uploads of signed builds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryPublisher, kernel_files, write_files
from tests.unit.runtime.local_sigstore import Identity, LocalSigstore
from tests.unit.runtime.signed_kernels import Signer, signed_files

from kernelmill.runtime.cli import main
from kernelmill.runtime.draft import plan_upload, read_draft
from kernelmill.runtime.publish import publish

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.runtime.kernel_files import MemoryHub

ALICE, MALLORY = Signer(), Signer()
INSTANCE = LocalSigstore()
CPU, CUDA = "torch-cpu", "torch-cuda"
GOOD = "kernel metadata is correctly signed"


@pytest.fixture(autouse=True)
def no_signers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is named by the environment."""
    for name in (
        "KERNELS_TRUSTED_KEYS",
        "KERNELS_TRUSTED_WORKFLOWS",
        "KERNELS_SIGSTORE_TRUST_ROOT",
        "KERNELS_REQUIRE_SIGNATURE",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def key(tmp_path: Path) -> str:
    return str(ALICE.write_public(tmp_path / "alice.pem"))


def write_kernel(root: Path, **builds: dict[str, bytes]) -> Path:
    for name, files in builds.items():
        write_files(root / "build" / f"torch-{name}", files)
    return root


def test_folder_is_verified_build_by_build(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_kernel(tmp_path / "k", cpu=signed_files(ALICE), cuda=signed_files(MALLORY))
    (root / "torch-ext").mkdir()  # every kernel's repository holds it; it is no build
    assert main(["verify-signature", str(root), "--key", key]) == 1
    assert capsys.readouterr().out == (
        f"✅ torch-cpu: {GOOD}\n"
        "❌ torch-cuda: metadata signature verification failed:\n"
        f"no trusted key signed it; it was signed by {MALLORY.public.key_id}\n"
    )
    assert main(["verify-signature", str(root / "build" / CPU), "--key", key]) == 0
    assert capsys.readouterr().out == f"✅ torch-cpu: {GOOD}\n"


def test_unsigned_builds_can_be_skipped(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(write_kernel(tmp_path / "k", cpu=signed_files(ALICE), cuda=kernel_files()))
    assert main(["verify-signature", root, "--key", key]) == 1
    missing = "❌ torch-cuda: cannot verify kernel integrity, signature not found\n"
    assert missing in capsys.readouterr().out
    assert main(["verify-signature", root, "--key", key, "--filter-unsigned"]) == 0
    assert capsys.readouterr().out == f"✅ torch-cpu: {GOOD}\n"


def test_builds_without_digest_can_be_skipped(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(write_kernel(tmp_path / "k", cpu=signed_files(ALICE, has_digest=False)))
    assert main(["verify-signature", root, "--key", key]) == 1
    assert capsys.readouterr().out == (
        "❌ torch-cpu: cannot verify kernel integrity, metadata does not have a digest\n"
    )
    assert main(["verify-signature", root, "--key", key, "--filter-no-digest"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "nothing was verified: every build was skipped\n"


def test_changed_files_are_listed(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = signed_files(ALICE) | {"evil.py": b"", "evil.pyc": b"\x1b[2J"}
    root = write_kernel(tmp_path / "k", cpu=files)
    (root / "build" / CPU / "__init__.py").unlink()
    assert main(["verify-signature", str(root), "--key", key]) == 1
    assert capsys.readouterr().out == (
        "❌ torch-cpu: kernel integrity check failed\n"
        "Unknown file: evil.pyc\nMissing file: __init__.py\nUnknown file: evil.py\n"
    )


def test_json_says_who_signed(tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    bad = signed_files(ALICE) | {"evil.py": b""}
    root = str(write_kernel(tmp_path / "k", cpu=signed_files(ALICE), cuda=bad, xpu=kernel_files()))
    words = ["verify-signature", root, "--key", key, "--json", "--filter-unsigned"]
    assert main(words) == 1
    assert json.loads(capsys.readouterr().out) == {
        "version": 1,
        "kernel": root,
        "variants": [
            {"variant": CPU, "result": "Success", "signer": f"key {ALICE.public.key_id}"},
            {
                "variant": CUDA,
                "result": "DigestVerificationFailure",
                "violations": ["Unknown file: evil.py"],
            },
        ],
        "skipped": ["torch-xpu"],
    }


@pytest.mark.parametrize("by_environment", [False, True])
def test_sigstore_bundles_are_verified_with_a_trust_root(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    by_environment: bool,
) -> None:
    trust_root = str(INSTANCE.write_trust_root(tmp_path / "root.json"))
    identity, builds = Identity(repo_id="acme/kernels"), {}
    for name, signer in {"cpu": identity, "cuda": Identity()}.items():
        files = kernel_files(value=name)
        bundle = INSTANCE.sign(files["metadata.json"], signer)
        builds[name] = files | {"metadata.json.sigstore": bundle}
    root = str(write_kernel(tmp_path / "k", **builds))
    words = ["verify-signature", root]
    if by_environment:
        monkeypatch.setenv("KERNELS_SIGSTORE_TRUST_ROOT", trust_root)
        monkeypatch.setenv("KERNELS_TRUSTED_WORKFLOWS", identity.signer_uri)
    else:
        words += ["--trust-root", trust_root, "--workflow", identity.signer_uri]
    assert main(words) == 1
    assert capsys.readouterr().out == (
        f"✅ torch-cpu: {GOOD}\n"
        "❌ torch-cuda: metadata signature verification failed:\n0 of 1 policies succeeded\n"
    )


def test_wrong_arguments_are_refused(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(write_kernel(tmp_path / "k", cpu=signed_files(ALICE)))
    for words, problem in (
        ([root, "1"], "VERSION cannot be used with a local path"),
        ([root, "--key", str(tmp_path / "none")], "cannot be read: No such file"),
        ([root, "--workflow", "acme"], "--workflow: 'acme' is not a GitHub workflow"),
        ([str(tmp_path)], "there are no builds here"),
    ):
        assert main(["verify-signature", *words]) == 2
        assert problem in capsys.readouterr().err


def test_kernel_of_a_hub_is_verified_here_and_offline(
    process_session: MemoryHub, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    builds = {CPU: signed_files(ALICE), CUDA: signed_files(MALLORY, value=2)}
    process_session.publish("stranger/toy", "v1", builds)
    words = ["verify-signature", "stranger/toy", "1", "--key", key]
    assert main(words) == 0, "verifying runs nothing, so it asks nobody for trust"
    assert capsys.readouterr().out == f"✅ torch-cpu: {GOOD}\n"
    assert main([*words, "--all-variants"]) == 1
    assert f"✅ torch-cpu: {GOOD}\n❌ torch-cuda: " in capsys.readouterr().out
    process_session.is_down = True
    assert main(words) == 0
    assert capsys.readouterr().out == f"✅ torch-cpu: {GOOD}\n"


def test_signatures_are_uploaded_with_their_build(
    tmp_path: Path, process_session: MemoryHub, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = signed_files(ALICE)
    bundle = INSTANCE.sign(files["metadata.json"])
    root = write_kernel(tmp_path / "k", cpu=files | {"metadata.json.sigstore": bundle})
    plan = plan_upload(read_draft(root), repo_id="acme/toy", branch=None, repo_type="kernel")
    publish(plan, root, MemoryPublisher(process_session, plan.repo_id))
    there = process_session.files("acme/toy", "v1")
    assert {f"build/{CPU}/metadata.json.sig", f"build/{CPU}/metadata.json.sigstore"} <= set(there)
    assert main(["verify-signature", "acme/toy", "1", "--key", key]) == 0
    # A build that is no longer signed leaves no signature behind.
    (root / "build" / CPU / "metadata.json.sig").unlink()
    plan = plan_upload(read_draft(root), repo_id="acme/toy", branch=None, repo_type="kernel")
    publish(plan, root, MemoryPublisher(process_session, plan.repo_id))
    assert f"build/{CPU}/metadata.json.sig" not in process_session.files("acme/toy", "v1")
