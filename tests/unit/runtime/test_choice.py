"""What is said when no build fits, or one with a reservation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files

from kernelmill.runtime import api, session
from kernelmill.runtime.errors import HubUnreachable
from kernelmill.spec.errors import NoVariant
from kernelmill.spec.version import parse_release

if TYPE_CHECKING:
    from kernelmill.spec.host import Host

OLD = "torch28-cxx11-cpu-x86_64-linux"
TOY = "acme/toy"


def test_newest_version_is_recommended_when_only_that_fits(process_session: MemoryHub) -> None:
    for number, variant in ((1, OLD), (2, "torch-cpu"), (10, "torch-cpu")):
        process_session.publish(TOY, f"v{number}", {variant: kernel_files()})
    commit = process_session.repos[TOY].branches["v1"]
    for wanted in ({"version": 1}, {"revision": "v1"}, {"revision": commit}):
        with pytest.raises(
            NoVariant,
            match=r"However, version v10 of 'acme/toy' has a build compatible with your system "
            r"\(torch-cpu\). Consider upgrading to that version by specifying the `version` arg",
        ):
            api.get_kernel(TOY, **wanted)


def test_nothing_is_recommended_when_the_newest_version_does_not_fit(
    process_session: MemoryHub,
) -> None:
    for number, variant in ((1, OLD), (2, "torch-cpu"), (3, OLD)):
        process_session.publish(TOY, f"v{number}", {variant: kernel_files()})
    for version in (1, 3):
        with pytest.raises(NoVariant) as caught:
            api.get_kernel(TOY, version=version)
        assert "However" not in str(caught.value)
    assert process_session.calls.count("folders") == 2, "a folder is listed once"


def test_recommendation_hides_no_error(
    process_session: MemoryHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = process_session.publish(TOY, "v1", {OLD: kernel_files()})

    def fail(_: object) -> None:
        raise HubUnreachable("the Hub does not answer")

    monkeypatch.setattr(process_session, "fetch_refs", fail)
    with pytest.raises(NoVariant, match=f"in acme/toy \\(revision: {commit}\\)"):
        api.get_kernel(TOY, revision=commit)


def test_variant_list_gives_a_reason_for_each_on_free_threaded_python(
    process_session: MemoryHub, monkeypatch: pytest.MonkeyPatch, host: Host
) -> None:
    """R6."""
    free = replace(host, is_free_threaded=True, python=(3, 14))
    monkeypatch.setattr(session, "probe_host", lambda: free)
    names = (OLD, "torch213-cxx11-cpu-x86_64-linux", "torch-cpu")
    process_session.publish(TOY, "v1", {name: kernel_files() for name in names})
    listed = api.get_kernel_variants(TOY, version=1)
    assert [str(it.variant) for it in listed if isinstance(it, api.VariantAccepted)] == [
        "torch-cpu"
    ]
    assert {it.reason for it in listed if isinstance(it, api.VariantRejected)} == {
        "compiled builds need free-threaded Python 3.15 or newer"
    }


def test_variant_list_notes_a_nightly(
    process_session: MemoryHub, monkeypatch: pytest.MonkeyPatch, host: Host
) -> None:
    nightly = replace(host, torch=parse_release("2.13.0.dev20260701+cpu", what="torch"))
    monkeypatch.setattr(session, "probe_host", lambda: nightly)
    process_session.publish(TOY, "v1", {"torch213-cxx11-cpu-x86_64-linux": kernel_files()})
    (accepted,) = api.get_kernel_variants(TOY, version=1)
    assert isinstance(accepted, api.VariantAccepted)
    assert accepted.note == "nightly: ABI may differ"
