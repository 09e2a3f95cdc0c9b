"""``kernels.lock``, in the format of today and in the one until 0.16."""

from __future__ import annotations

import hashlib
import json

import pytest

from kernelmill.spec import lockfile
from kernelmill.spec.errors import LockfileError
from kernelmill.spec.lockfile import LockedKernel, Lockfile
from kernelmill.spec.names import RepoId

COMMIT = "0123456789abcdef" * 2 + "01234567"
OTHER = "f" * 40
RELU = RepoId.parse("org/relu")


def entry(repo: str = "org/relu", **wanted: object) -> dict[str, object]:
    return {
        "dependency": {"repo-id": repo, **(wanted or {"version": 1})},
        "lock": {"commit": COMMIT},
    }


def test_parse_and_dumps_are_inverse_and_sorted() -> None:
    text = json.dumps(
        [entry("org/x", revision="dev"), entry("org/x", version=2), entry("org/a", version=1)]
    )
    parsed = lockfile.parse(text)
    assert [(str(it.repo_id), it.version, it.revision) for it in parsed.kernels] == [
        ("org/a", 1, None),
        ("org/x", 2, None),
        ("org/x", None, "dev"),
    ]
    assert lockfile.parse(lockfile.dumps(parsed)) == parsed


def test_dumps_writes_what_other_programs_read() -> None:
    kernel = LockedKernel(repo_id=RELU, version=1, commit=COMMIT)
    assert lockfile.dumps(Lockfile(kernels=(kernel,))) == (
        "[\n"
        "  {\n"
        '    "dependency": {\n'
        '      "repo-id": "org/relu",\n'
        '      "version": 1\n'
        "    },\n"
        '    "lock": {\n'
        f'      "commit": "{COMMIT}"\n'
        "    }\n"
        "  }\n"
        "]"
    )


def test_parse_keeps_the_hash_that_nix_adds() -> None:
    nix = entry()
    nix["lock"] = {"commit": COMMIT.upper(), "hash": "sha256-" + "A" * 43 + "="}
    (kernel,) = lockfile.parse(json.dumps([nix])).kernels
    assert (kernel.commit, kernel.nix_hash) == (COMMIT, "sha256-" + "A" * 43 + "=")


OLD = [
    {
        "repo_id": "org/relu",
        "sha": COMMIT,
        "variants": {
            "torch28-cxx11-cpu-x86_64-linux": {
                "hash": "sha256-" + "0" * 64,
                "hash_type": "git_lfs_concat",
            }
        },
    }
]


def test_parse_reads_the_old_format() -> None:
    (kernel,) = lockfile.parse(json.dumps(OLD)).kernels
    assert kernel.dependency is None
    assert kernel.variant_hashes == {"torch28-cxx11-cpu-x86_64-linux": "sha256-" + "0" * 64}


def test_dumps_refuses_to_guess_a_version_for_an_old_entry() -> None:
    with pytest.raises(LockfileError, match="comes from the old lock format"):
        lockfile.dumps(lockfile.parse(json.dumps(OLD)))


def test_find_means_the_only_entry_when_nothing_is_said() -> None:
    locks = lockfile.parse(json.dumps([entry()]))
    found = locks.find(RELU)
    assert found is not None
    assert found.commit == COMMIT
    assert locks.find(RELU, version=2) is None
    assert locks.find(RepoId.parse("org/other")) is None


def test_find_wants_to_know_which_of_two() -> None:
    locks = lockfile.parse(json.dumps([entry(version=1), entry(version=2)]))
    with pytest.raises(LockfileError, match="locked more than once: version 1, version 2"):
        locks.find(RELU)


def test_find_takes_an_old_entry_for_any_version() -> None:
    assert lockfile.parse(json.dumps(OLD)).find(RELU, version=3) is not None


def test_hash_variant_is_of_names_and_raw_hashes_in_order() -> None:
    files = [("b.so", "ff" * 32), ("__init__.py", "00" * 20), ("__pycache__/a.pyc", "11" * 20)]
    by_hand = hashlib.sha256(b"__init__.py" + bytes(20) + b"b.so" + b"\xff" * 32)
    assert lockfile.hash_variant(files) == f"sha256-{by_hand.hexdigest()}"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param("nonsense", "Cannot parse KernelLocks: Expecting value", id="no-json"),
        pytest.param({}, "is a table", id="no-list"),
        pytest.param([{**entry(), "more": 1}], "unknown key 'more'", id="unknown-key"),
        pytest.param([entry(), entry()], "is listed twice", id="twice"),
        pytest.param([entry(version=1, revision="a")], "mutually exclusive", id="both"),
        pytest.param(
            [{**entry(), "lock": {"commit": "abc"}}],
            "Invalid git object id, expected 40 or 64 hexadecimal digits: abc",
            id="commit",
        ),
        pytest.param(
            [{**entry(), "lock": {"commit": OTHER, "hash": "md5-x"}}], "is not a Nix hash", id="nix"
        ),
        pytest.param([*OLD, entry()], "missing key 'repo_id'", id="mixed"),
    ],
)
def test_parse_says_what_is_wrong(document: object, message: str) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(LockfileError, match="Cannot parse KernelLocks") as caught:
        lockfile.parse(text, where="app/kernels.lock")
    assert message in str(caught.value)
    assert "app/kernels.lock" in str(caught.value)
