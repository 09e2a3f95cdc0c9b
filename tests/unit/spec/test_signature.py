"""The format of ``metadata.json.sig`` and of public keys."""

from __future__ import annotations

import base64
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.spec.digest import SIGNATURE_FILE, UNCOVERED_FILES
from kernelmill.spec.errors import SignatureError
from kernelmill.spec.signature import (
    DOMAIN,
    MAX_BYTES,
    PublicKey,
    Signature,
    SignatureSet,
    Workflow,
    dumps,
    dumps_public_key,
    parse,
    parse_public_keys,
    parse_workflow,
    signed_message,
)

KEY_ID = "ab" * 32
VALUE = base64.b64encode(b"s" * 64).decode()
ENTRY = {"algorithm": "ed25519", "key-id": KEY_ID, "signature": VALUE}
# RFC 8032, 7.1, test 1. The PEM file and the id come from OpenSSL 3.
RFC_KEY = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
RFC_PEM = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
"""
RFC_KEY_ID = "06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9"


def document(**changes: object) -> dict[str, object]:
    return {"version": 1, "signatures": [ENTRY], **changes}


def test_signature_file_is_not_covered_by_the_digest() -> None:
    assert SIGNATURE_FILE in UNCOVERED_FILES


def test_message_is_of_one_kind_alone() -> None:
    assert signed_message(b"{}") == b"kernelmill:metadata.json:1\n{}"
    assert DOMAIN.endswith(b"\n")


@given(
    st.lists(
        st.tuples(
            st.text("0123456789abcdef", min_size=64, max_size=64),
            st.binary(min_size=64, max_size=64),
        ),
        min_size=1,
        max_size=16,
        unique_by=lambda it: it[0],
    )
)
def test_what_is_written_is_read(pairs: list[tuple[str, bytes]]) -> None:
    signatures = tuple(Signature(key_id=key, value=value) for key, value in sorted(pairs))
    written = dumps(SignatureSet(signatures=signatures))
    assert parse(written) == SignatureSet(signatures=signatures)
    assert dumps(parse(written)) == written
    assert len(written) < MAX_BYTES


def test_file_is_as_documented() -> None:
    written = dumps(SignatureSet(signatures=(Signature(key_id=KEY_ID, value=b"s" * 64),)))
    assert json.loads(written) == document()
    assert written.endswith("}\n")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param(document(version=2), "signature format 2 is not known", id="version"),
        pytest.param(document(version=True), "True is true or false", id="version-type"),
        pytest.param(document(note="x"), "unknown key 'note'", id="extra-field"),
        pytest.param(document(signatures=[]), "0 signatures", id="none"),
        pytest.param(document(signatures={}), "{} is a table", id="no-list"),
        pytest.param(document(signatures=[ENTRY, ENTRY]), "is listed twice", id="twice"),
        pytest.param(
            document(signatures=[{**ENTRY, "key-id": f"{n:064x}"} for n in range(17)]),
            "17 signatures",
            id="many",
        ),
        pytest.param(
            document(signatures=[{**ENTRY, "trusted": True}]),
            "signatures[0].trusted: unknown key 'trusted'",
            id="extra-field-below",
        ),
        pytest.param(
            document(signatures=[{**ENTRY, "algorithm": "none"}]),
            "unknown signature algorithm 'none'",
            id="algorithm",
        ),
        pytest.param(
            document(signatures=[{**ENTRY, "key-id": "AB" * 32}]), "not a key id", id="key-id"
        ),
        pytest.param(
            document(signatures=[{**ENTRY, "signature": VALUE[:-8]}]),
            "signatures[0].signature: not a signature",
            id="truncated",
        ),
        pytest.param(
            document(signatures=[{**ENTRY, "signature": VALUE[:-3] + "x=="}]),
            "not a signature",
            id="second-spelling",
        ),
        pytest.param(
            document(signatures=[{"algorithm": "ed25519", "key-id": KEY_ID}]),
            "missing key 'signature'",
            id="missing",
        ),
        pytest.param([], "[] is an array", id="array"),
    ],
)
def test_anything_else_is_refused(changed: object, message: str) -> None:
    with pytest.raises(SignatureError) as caught:
        parse(json.dumps(changed), where="here")
    assert message in str(caught.value)
    assert str(caught.value).startswith("here")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "not a signature file", id="empty"),
        pytest.param(json.dumps(document())[:40], "not a signature file", id="truncated"),
        pytest.param(
            '{"version": 1, "version": 1}', "key 'version' is given twice", id="key-twice"
        ),
        pytest.param("[" * 10_000, "not a signature file", id="deep"),
        pytest.param(" " * (MAX_BYTES + 1), f"larger than {MAX_BYTES} bytes", id="huge"),
    ],
)
def test_what_is_not_json_is_refused(content: str, message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        parse(content)


@given(st.text())
def test_any_text_gives_a_value_or_one_error(content: str) -> None:
    for read in (parse, parse_public_keys):
        with suppress(SignatureError):
            read(content, where="x")


def test_public_key_is_the_one_that_openssl_writes() -> None:
    assert dumps_public_key(PublicKey(raw=RFC_KEY)) == RFC_PEM
    (key,) = parse_public_keys(RFC_PEM, where="x")
    assert key.raw == RFC_KEY
    assert key.key_id == RFC_KEY_ID


def test_public_keys_share_a_file_with_comments() -> None:
    other = PublicKey(raw=b"k" * 32)
    content = f"# release team\n{RFC_PEM}\r\nwas ours until May\n{dumps_public_key(other)}{RFC_PEM}"
    assert parse_public_keys(content, where="x") == (PublicKey(raw=RFC_KEY), other)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "holds no public key", id="empty"),
        pytest.param("ssh-ed25519 AAAA", "holds no public key", id="ssh"),
        pytest.param(RFC_PEM[:60], "holds half a key", id="truncated"),
        pytest.param(RFC_PEM + RFC_PEM[:60], "holds half a key", id="second-truncated"),
        pytest.param(RFC_PEM.replace("PUBLIC", "PRIVATE"), "holds a private key", id="private"),
        pytest.param(
            RFC_PEM.replace("PUBLIC", "ENCRYPTED PRIVATE"), "holds a private key", id="encrypted"
        ),
        pytest.param(
            RFC_PEM.replace("MCow", "MCox"), "holds a PUBLIC KEY that is not ed25519", id="other"
        ),
        pytest.param(
            RFC_PEM.replace("HURo=", "HQ=="), "holds a PUBLIC KEY that is not ed25519", id="short"
        ),
    ],
)
def test_what_is_no_public_key_is_refused(content: str, message: str) -> None:
    with pytest.raises(SignatureError) as caught:
        parse_public_keys(content, where="keys.pem")
    assert str(caught.value).startswith(f"keys.pem: {message}")


def test_workflow_names_its_repository() -> None:
    uri = "https://github.com/acme/kernels/.github/workflows/build.yaml@refs/heads/main"
    assert parse_workflow(uri, where="x") == Workflow(repo_id="acme/kernels", signer_uri=uri)


@pytest.mark.parametrize(
    "uri",
    [
        "acme/kernels",
        "http://github.com/acme/k/.github/workflows/b.yaml@refs/heads/main",
        "https://github.com/acme/k/.github/workflows/b.yaml",
        "https://github.com.evil.test/acme/k/.github/workflows/b.yaml@refs/heads/main",
        "https://github.com/acme/../k/.github/workflows/b.yaml@refs/heads/main",
    ],
)
def test_other_workflows_are_refused(uri: str) -> None:
    with pytest.raises(SignatureError, match="is not a GitHub workflow"):
        parse_workflow(uri, where="x")
