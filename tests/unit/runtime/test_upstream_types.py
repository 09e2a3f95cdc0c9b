"""The types of `kernels._rust`: every expected value was seen in version 0.17.2 of the original.

Where ours do more (they pickle, their violations compare by value), docs/compatibility.md says so.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kernels._rust import (
    Backend,
    BackendInfo,
    Build,
    Digest,
    DigestAlgorithm,
    DigestValidationError,
    DigestViolation,
    KernelDependency,
    KernelLock,
    KernelLocks,
    KernelName,
    KernelPaths,
    KernelVersion,
    Metadata,
    NixKernelLock,
    NixKernelLocks,
    Version,
)

if TYPE_CHECKING:
    from collections.abc import Callable

COMMIT = "ab" * 20
NIX_HASH = "sha256-" + "A" * 43 + "="
DEPENDENCY = KernelDependency("a/b", KernelVersion.Version(1))
ON_MAIN = KernelDependency("a/b", KernelVersion.Revision("main"))
NAME_RULES = """Invalid kernel name `{}`. Name must:
- Start with a lowercase letter (a-z)
- Contain only lowercase letters, digits, and dashes
- End with a lowercase letter or digit
- Be at least 2 characters long
Examples: `my-kernel`, `relu2d`, `flash-attention`"""


@pytest.mark.parametrize(
    ("value", "text", "representation"),
    [
        (Backend.CUDA, "cuda", "Backend.CUDA"),
        (Backend.ROCm, "rocm", "Backend.ROCm"),
        (Backend.from_str("MeTaL"), "metal", "Backend.Metal"),
        (Version.from_str("1.2.0"), "1.2.0", "Version('1.2.0')"),
        (Version.from_str("01.2"), "1.2", "Version('1.2')"),
        (Version.from_str(" +1"), "1", "Version('1')"),
        (KernelName("a--b"), "a--b", "KernelName('a--b')"),
        (DigestAlgorithm.SHA512, "sha512", "DigestAlgorithm.SHA512"),
        (
            KernelVersion.Version(3),
            "KernelVersion.Version(version=3)",
            "KernelVersion.Version(version=3)",
        ),
        (
            KernelVersion.Revision('a"b\né'),
            'KernelVersion.Revision(revision="a\\"b\\né")',
            'KernelVersion.Revision(revision="a\\"b\\né")',
        ),
        (
            DEPENDENCY,
            'KernelDependency(repo_id="a/b", version=KernelVersion.Version(version=1))',
            'KernelDependency(repo_id="a/b", version=KernelVersion.Version(version=1))',
        ),
        (
            KernelLock(COMMIT.upper()),
            f'KernelLock(commit="{COMMIT}")',
            f'KernelLock(commit="{COMMIT}")',
        ),
        (
            NixKernelLock(COMMIT, "h"),
            f'NixKernelLock(commit="{COMMIT}", hash="h")',
            f'NixKernelLock(commit="{COMMIT}", hash="h")',
        ),
        (
            BackendInfo(Backend.CPU),
            "BackendInfo(backend_type=Backend.CPU, archs=None)",
            "BackendInfo(backend_type=Backend.CPU, archs=None)",
        ),
        (KernelLocks({}), "KernelLocks({})", "KernelLocks({})"),
        (
            KernelPaths({DEPENDENCY: "/x"}),
            f'KernelPaths({{{DEPENDENCY}: "/x"}})',
            f'KernelPaths({{{DEPENDENCY}: "/x"}})',
        ),
        (
            Digest(DigestAlgorithm.SHA256, {"a": "QQ=="}),
            'Digest(algorithm=DigestAlgorithm.SHA256, files={"a": "QQ=="})',
            'Digest(algorithm=DigestAlgorithm.SHA256, files={"a": "QQ=="})',
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_value_prints_as_the_original(value: object, text: str, representation: str) -> None:
    assert (str(value), repr(value)) == (text, representation)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Backend.from_str("hip"), ValueError, "Unknown backend: hip"),
        (lambda: Version.from_str(""), ValueError, "Cannot parse version ``: empty version string"),
        (
            lambda: Version.from_str("1.2rc1"),
            ValueError,
            "Cannot parse version `1.2rc1`: version must consist of numbers",
        ),
        (
            lambda: Version.from_str("1 .2"),
            ValueError,
            "Cannot parse version `1 .2`: version must consist of numbers",
        ),
        (
            lambda: Version.from_str(str(2**64)),
            ValueError,
            f"Cannot parse version `{2**64}`: version must consist of numbers",
        ),
        (lambda: KernelName("Relu"), ValueError, NAME_RULES.format("Relu")),
        (lambda: KernelName("r"), ValueError, NAME_RULES.format("r")),
        (KernelVersion, TypeError, "cannot create 'KernelVersion' instances"),
        (DigestViolation, TypeError, "cannot create 'DigestViolation' instances"),
        (
            lambda: KernelVersion.Version(-1),
            OverflowError,
            "can't convert negative int to unsigned",
        ),
        (lambda: KernelVersion.Version(2**64), OverflowError, "int too big to convert"),
        (
            lambda: KernelLock("xyz"),
            ValueError,
            "Invalid git object id, expected 40 or 64 hexadecimal digits: xyz",
        ),
        (
            lambda: KernelLock.from_json('{"commit": "zz"}'),
            ValueError,
            "Cannot parse KernelLock: Invalid git object id, "
            "expected 40 or 64 hexadecimal digits: zz",
        ),
        (lambda: KernelLock.from_json("{"), ValueError, "Cannot parse KernelLock: "),
        (lambda: KernelLock.from_json("{}"), ValueError, "Cannot parse KernelLock: missing"),
        (lambda: NixKernelLock.from_json("[]"), ValueError, "Cannot parse NixKernelLock: "),
        (lambda: KernelLocks.from_json("{}"), ValueError, "Cannot parse KernelLocks: "),
        (lambda: NixKernelLocks.from_json("null"), ValueError, "Cannot parse NixKernelLocks: "),
        (lambda: KernelPaths.from_json("[1]"), ValueError, "Cannot parse KernelPaths: "),
        (
            lambda: KernelLocks({DEPENDENCY: 1}),  # type: ignore[dict-item]
            TypeError,
            "argument 'locks': 'int' object cannot be converted to 'KernelLock'",
        ),
        (
            lambda: KernelDependency("a/b", 1),  # type: ignore[arg-type]
            TypeError,
            "argument 'version': 'int' object cannot be converted to 'KernelVersion'",
        ),
        (
            lambda: KernelLocks({})[DEPENDENCY],
            KeyError,
            repr(str(DEPENDENCY)),
        ),
        (
            lambda: Metadata.read_from_file("/nope"),
            OSError,
            'Failed to open `"/nope"`: No such file or directory (os error 2)',
        ),
        (lambda: Metadata.from_bytes(b"{"), ValueError, "Cannot parse metadata: "),
        (lambda: Metadata.from_bytes(b"\xff"), ValueError, "Cannot parse metadata: "),
        (
            lambda: Digest.hash_variant(DigestAlgorithm.SHA256, "/nope"),
            OSError,
            "Failed to hash variant `/nope`: ",
        ),
        (
            lambda: Build.open("/nope"),
            ValueError,
            "Cannot parse build configuration in `/nope`: "
            "Cannot open /nope/build.toml for reading: No such file or directory",
        ),
    ],
    # Of a function, str would tell where it lies in memory: workers could not compare their tests.
    ids=lambda value: "call" if callable(value) and not isinstance(value, type) else str(value),
)
def test_refusal_begins_as_the_original(
    make: Callable[[], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("one", "other", "are_equal"),
    [
        (Version.from_str("1"), Version.from_str("1.0.0"), True),
        (Version.from_str("0"), Version.from_str("0.0"), True),
        (Version.from_str("1"), "1", False),
        (KernelName("aa"), "aa", False),
        (Backend.CUDA, "cuda", False),
        (KernelVersion.Version(1), KernelVersion.Revision("1"), False),
        (KernelVersion.Version(True), KernelVersion.Version(1), True),
        (DEPENDENCY, KernelDependency("a/b", KernelVersion.Version(1)), True),
        (KernelLock(COMMIT), KernelLock(COMMIT.upper()), True),
        (KernelLocks({}), NixKernelLocks({}), False),
    ],
    ids=str,
)
def test_equality_and_hashes_are_the_originals(
    one: object, other: object, *, are_equal: bool
) -> None:
    assert (one == other) is are_equal
    if are_equal:
        assert hash(one) == hash(other)


def test_versions_compare_as_numbers() -> None:
    assert Version.from_str("1.2") < Version.from_str("1.10")
    assert Version.from_str("1.2") <= Version.from_str("1.2.0")
    with pytest.raises(TypeError):
        Version.from_str("1") < "2"  # noqa: B015


def test_versions_and_revisions_can_be_matched() -> None:
    match ON_MAIN.version:
        case KernelVersion.Version():
            pytest.fail("a revision is no version")
        case KernelVersion.Revision(revision):
            assert revision == "main"
    assert isinstance(ON_MAIN.version, KernelVersion)


LOCKS = KernelLocks(
    {
        KernelDependency("z/z", KernelVersion.Version(1)): KernelLock(COMMIT),
        ON_MAIN: KernelLock("b" * 40),
        DEPENDENCY: KernelLock("c" * 40),
        KernelDependency("a/b", KernelVersion.Version(0)): KernelLock("d" * 40),
    }
)


def test_locks_are_a_mapping_in_order_of_repository_and_version() -> None:
    wanted = [(it.repo_id, it.number, it.revision) for it in LOCKS]
    assert wanted == [("a/b", 0, None), ("a/b", 1, None), ("a/b", None, "main"), ("z/z", 1, None)]
    assert LOCKS.keys() == list(LOCKS)
    assert LOCKS.items() == list(zip(LOCKS.keys(), LOCKS.values(), strict=True))
    assert (len(LOCKS), bool(KernelLocks({}))) == (4, False)
    assert LOCKS[DEPENDENCY] == LOCKS.get(DEPENDENCY) == KernelLock("c" * 40)
    unknown: Any = "x"
    assert (DEPENDENCY in LOCKS, unknown in LOCKS, LOCKS.get(unknown, 7)) == (True, False, 7)
    with pytest.raises(TypeError, match="argument 'dependency': 'str' object cannot be converted"):
        LOCKS[unknown]
    assert not hasattr(LOCKS, "__setitem__")


def test_locks_survive_json() -> None:
    assert KernelLocks.from_json(LOCKS.to_json()) == LOCKS
    assert LOCKS.to_json().splitlines()[:9] == [
        "[",
        "  {",
        '    "dependency": {',
        '      "repo-id": "a/b",',
        '      "version": 0',
        "    },",
        '    "lock": {',
        f'      "commit": "{"d" * 40}"',
        "    }",
    ]
    assert KernelLocks({}).to_json() == "[]"
    assert KernelLock.from_json(KernelLock(COMMIT).to_json()) == KernelLock(COMMIT)
    nix = NixKernelLocks({DEPENDENCY: NixKernelLock(COMMIT, NIX_HASH)})
    assert NixKernelLocks.from_json(nix.to_json()) == nix
    paths = KernelPaths({DEPENDENCY: "/x/y", ON_MAIN: Path("/z")})
    assert KernelPaths.from_json(paths.to_json()) == paths
    assert paths[DEPENDENCY] == Path("/x/y")
    assert '"path": "/x/y"' in paths.to_json()


def test_old_lock_file_is_read_with_the_commit_as_the_revision() -> None:
    """The original refuses it: it reads one of the two formats."""
    locks = KernelLocks.from_json(f'[{{"repo_id": "a/b", "sha": "{COMMIT}", "variants": {{}}}}]')
    assert locks.items() == [
        (KernelDependency("a/b", KernelVersion.Revision(COMMIT)), KernelLock(COMMIT))
    ]


@pytest.mark.parametrize(
    "text",
    [
        f'[{{"commit": "{COMMIT}"}}]',
        f'[{{"dependency": {{"repo-id": "a/b"}}, "lock": {{"commit": "{COMMIT}"}}}}]',
        '[{"dependency": {"repo-id": "a/b", "version": 1}}]',
    ],
)
def test_nix_locks_and_paths_name_themselves_when_they_are_wrong(text: str) -> None:
    with pytest.raises(ValueError, match=r"^Cannot parse NixKernelLocks: "):
        NixKernelLocks.from_json(text)
    with pytest.raises(ValueError, match=r"^Cannot parse KernelPaths: "):
        KernelPaths.from_json(text)


def test_lock_without_a_hash_is_no_nix_lock() -> None:
    with pytest.raises(ValueError, match="Cannot parse NixKernelLocks: 'a/b' has no hash"):
        NixKernelLocks.from_json(KernelLocks({DEPENDENCY: KernelLock(COMMIT)}).to_json())


@pytest.fixture
def variant(tmp_path: Path) -> Path:
    files = {
        "a.py": "x",
        "sub/b.py": "y",
        "metadata.json": "{}",
        "metadata.json.sigstore": "q",
        "__pycache__/a.pyc": "z",
        "sub/metadata.json": "q",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def test_digest_covers_what_the_originals_covers(variant: Path) -> None:
    assert Digest.hash_variant(DigestAlgorithm.SHA256, variant).files == {
        "a.py": "LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=",
        "sub/b.py": "ofzkNjhU/4iM/0uOeHXWAMJoI5BBKoz3mzfQsRFIsPo=",
        "sub/metadata.json": "jjXCzTv2ZBvbDiBQt2kyy7LmA0oN2swdm+qCprpX988=",
    }


def test_digest_that_differs_says_how_in_the_originals_words(variant: Path) -> None:
    promised = Digest.hash_variant(DigestAlgorithm.SHA256, variant)
    promised.validate(promised)
    (variant / "a.py").write_text("x2")
    (variant / "sub/b.py").unlink()
    (variant / "zz").write_text("1")
    (variant / "c").write_text("1")
    with pytest.raises(DigestValidationError) as caught:
        promised.validate(Digest.hash_variant(DigestAlgorithm.SHA256, variant))
    assert str(caught.value) == (
        "kernel does not match the expected digest:\n"
        "File hash mismatch for a.py: expected: LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=, "
        "got: hE7MCBZOLqsnY0qa3uGvplmeWJVw5xl4TggM50f8DkU=\n"
        "Missing file: sub/b.py\n"
        "Unknown file: c\n"
        "Unknown file: zz"
    )
    match caught.value.violations[1]:
        case DigestViolation.MissingFile(path):
            assert path == "sub/b.py"
        case _:
            pytest.fail("the second violation is the missing file")


def test_digests_of_two_algorithms_differ(variant: Path) -> None:
    one, other = (Digest.hash_variant(each, variant) for each in DigestAlgorithm)
    with pytest.raises(DigestValidationError) as caught:
        one.validate(other)
    first = caught.value.violations[0]
    assert str(first) == "Algorithm mismatch: expected: SHA256, got: SHA512"
    assert first == DigestViolation.AlgorithmMismatch(
        DigestAlgorithm.SHA256, DigestAlgorithm.SHA512
    )


METADATA = """{
  "name": "relu", "id": "_relu_cuda_1a2b3c4", "version": 1, "kernels-minver": "0.14.0",
  "license": "Apache-2.0", "upstream": "https://a.b/c", "source": "https://a.b/d",
  "python-depends": ["einops"],
  "kernel-depends": [{"repo-id": "a/b", "version": 1}, {"repo-id": "a/b", "revision": "main"}],
  "backend": {"type": "cuda", "archs": ["8.0", "9.0a"]},
  "digest": {"algorithm": "sha256", "files": {"b": "QQ==", "a": "QQ=="}},
  "provenance": {
    "kernel-builder": {"version": "0.17.0", "commit": "COMMIT", "dirty": false},
    "kernel": {"commit": "COMMIT", "dirty": true}
  }
}""".replace("COMMIT", COMMIT)


def test_metadata_has_the_originals_attributes(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_text(METADATA)
    metadata = Metadata.read_from_file(tmp_path / "metadata.json")
    assert metadata == Metadata.from_bytes(METADATA.encode())
    assert (metadata.id, metadata.name, metadata.version) == (
        "_relu_cuda_1a2b3c4",
        KernelName("relu"),
        1,
    )
    assert metadata.kernels_minver == Version.from_str("0.14")
    assert (metadata.license, metadata.upstream, metadata.source) == (
        "Apache-2.0",
        "https://a.b/c",
        "https://a.b/d",
    )
    assert metadata.python_depends == ["einops"]
    assert metadata.kernel_depends == [DEPENDENCY, ON_MAIN]
    assert (metadata.backend.backend_type, metadata.backend.archs) == (
        Backend.CUDA,
        ["8.0", "9.0a"],
    )
    assert metadata.digest == Digest(DigestAlgorithm.SHA256, {"a": "QQ==", "b": "QQ=="})
    assert metadata.provenance is not None
    assert metadata.provenance.dirty
    assert repr(metadata.provenance) == (
        'Provenance(kernel_builder=KernelBuilderVersion(version="0.17.0", '
        f'git=GitStatus(commit="{COMMIT}", dirty=false)), '
        f'kernel=GitStatus(commit="{COMMIT}", dirty=true))'
    )
    assert repr(metadata).startswith('Metadata(id="_relu_cuda_1a2b3c4", name=KernelName(')
    assert isinstance(hash(metadata), int)


def test_metadata_says_which_file_and_key_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "metadata.json"
    path.write_text(METADATA.replace('"cuda"', '"hip"'))
    with pytest.raises(ValueError, match="unknown backend 'hip'") as caught:
        Metadata.read_from_file(path)
    assert str(caught.value).startswith(f'Cannot parse metadata from `"{path}"`: backend.type: ')


def test_build_knows_what_each_backend_depends_on(tmp_path: Path) -> None:
    (tmp_path / "build.toml").write_text(
        '[general]\nname = "relu"\nversion = 1\nedition = 5\nlicense = "Apache-2.0"\n'
        'backends = ["cpu", "cuda"]\nkernel-depends = [{repo-id = "a/b", version = 1}]\n'
        '[general.cuda]\nkernel-depends = [{repo-id = "a/b", revision = "main"}]\n'
        "[torch-noarch]\n"
    )
    build = Build.open(tmp_path)
    assert build.general.backends == [Backend.CPU, Backend.CUDA]
    assert build.all_kernel_depends(Backend.CPU) == [DEPENDENCY]
    assert build.all_kernel_depends(Backend.CUDA) == [DEPENDENCY, ON_MAIN]


def test_values_can_be_sent_to_other_processes() -> None:
    """The original's cannot."""
    values = (Backend.CUDA, Version.from_str("1.2"), DEPENDENCY, LOCKS, KernelName("aa"))
    assert pickle.loads(pickle.dumps(values)) == values
