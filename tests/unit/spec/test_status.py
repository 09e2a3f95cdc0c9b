from __future__ import annotations

import pytest

from kernelmill.spec.errors import StatusError
from kernelmill.spec.names import RepoId
from kernelmill.spec.status import Redirect, dumps, parse

NEW = RepoId(namespace="org", name="new")


def test_parse_reads_a_redirect() -> None:
    text = 'kind = "redirect"\ndestination = "org/new"\nrevision = "v2"\nsince = 2026\n'
    assert parse(text) == Redirect(destination=NEW, revision="v2")


def test_parse_takes_main_when_no_revision_is_given() -> None:
    assert parse('kind = "redirect"\ndestination = "org/new"').revision == "main"


@pytest.mark.parametrize("revision", ["main", 'a "b" \\ c', "é", "refs/pr/1"])
def test_round_trip_is_the_identity(revision: str) -> None:
    status = Redirect(destination=NEW, revision=revision)
    assert parse(dumps(status)) == status


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "kernel-status.toml must contain a 'kind' field", id="empty"),
        pytest.param('kind = ""', "must contain a 'kind' field", id="empty-kind"),
        pytest.param('kind = "gone"', "Unknown kernel status kind: 'gone'", id="kind"),
        pytest.param("kind = 1", "Unknown kernel status kind: 1", id="kind-number"),
        pytest.param('kind = "redirect"', "must contain a 'destination' field", id="destination"),
        pytest.param(
            'kind = "redirect"\ndestination = "new"', "'new' is not a repository id", id="bad-id"
        ),
        pytest.param(
            'kind = "redirect"\ndestination = ["a/b"]', "is not a repository id", id="list"
        ),
        pytest.param(
            'kind = "redirect"\ndestination = "a/b"\nrevision = 1', "1 is not a rev", id="revision"
        ),
        pytest.param("kind", "not valid TOML: ", id="not-toml"),
    ],
)
def test_parse_says_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(StatusError, match=problem) as caught:
        parse(text, where="a/b kernel-status.toml")
    assert isinstance(caught.value, ValueError)
    assert caught.value.where.startswith("a/b kernel-status.toml")
