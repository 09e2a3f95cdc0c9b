"""The pages about formats say what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kernelmill.spec.archs import GENERIC_TARGETS, PORTABLE_TARGET, check_archs
from kernelmill.spec.backend import Backend
from kernelmill.spec.editions import v1, v2, v3, v4
from kernelmill.spec.host import Device
from kernelmill.spec.licenses import recognise_license
from kernelmill.spec.manifest import UNKNOWN_LICENSE, read
from kernelmill.spec.metadata import dumps, parse
from kernelmill.spec.variant import ArchVariant, parse_variant

DOCS = Path(__file__).parents[3] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", page(name))


READINGS = re.findall(r"`([a-z-]+[0-9]+)` is ([0-9]+)\.([0-9]+)", page("variants.md"))


def test_page_gives_a_reading_for_each_kind_of_name() -> None:
    assert len(READINGS) == 14


@pytest.mark.parametrize(("name", "major", "minor"), READINGS)
def test_versions_end_where_the_page_says(name: str, major: str, minor: str) -> None:
    is_framework = name.startswith("t")
    text = f"{name}-cpu-x86_64-linux" if is_framework else f"torch213-{name}-x86_64-linux"
    variant = parse_variant(text)
    assert isinstance(variant, ArchVariant)
    part = variant.framework if is_framework else variant.compute
    assert part.version == (int(major), int(minor))
    assert str(variant) == text


def test_page_names_parts_of_variants_that_are_read() -> None:
    rows = dict(re.findall(r"(?m)^\| (framework|compute|cpu|os) \| (.*) \|$", page("variants.md")))
    found = {part: re.findall(r"`([^`]+)`", values) for part, values in rows.items()}
    assert found["framework"] == [
        *("torch213", "torch213-cxx11", "torch213-cxx98", "torch-stable-abi29", "tvm-ffi01")
    ]
    for framework in found["framework"]:
        for compute in found["compute"]:
            for cpu in found["cpu"]:
                for system in found["os"]:
                    parse_variant(f"{framework}-{compute}-{cpu}-{system}")


@pytest.mark.parametrize(
    ("listed", "backend", "fits", "unfit"),
    [
        ("8.0", Backend.CUDA, ["8.0", "8.9"], ["7.5", "9.0"]),
        ("9.0a", Backend.CUDA, ["9.0"], ["9.1", "10.0"]),
        ("9.0a+PTX", Backend.CUDA, ["9.0"], ["10.0"]),
        ("10.0f", Backend.CUDA, ["10.0", "10.3"], ["12.0"]),
        ("8.0+PTX", Backend.CUDA, ["8.0", "12.0"], ["7.5"]),
        ("gfx942", Backend.ROCM, ["gfx942:sramecc+:xnack-"], ["gfx950"]),
        ("gfx90a:xnack+", Backend.ROCM, ["gfx90a:xnack+"], ["gfx90a:xnack-"]),
        ("gfx9-4-generic", Backend.ROCM, sorted(GENERIC_TARGETS["gfx9-4-generic"]), ["gfx90a"]),
        (PORTABLE_TARGET, Backend.ROCM, ["gfx942", "gfx1201"], []),
    ],
)
def test_architectures_run_where_the_page_says(
    listed: str, backend: Backend, fits: list[str], unfit: list[str]
) -> None:
    assert f"`{listed}`" in page("variants.md")
    assert not any(check_archs([listed], backend, [Device(arch=it)]) for it in fits)
    assert all(check_archs([listed], backend, [Device(arch=it)]) for it in unfit)


def test_example_of_metadata_has_every_key_and_the_table_too() -> None:
    (example,) = blocks("metadata.md", "json")
    written = json.loads(dumps(parse(example, where="metadata.json")))
    assert written == json.loads(example)
    rows = re.findall(r"(?m)^\| `([a-z-]+)` \| (yes)? ?\| ", page("metadata.md"))
    assert [key for key, _ in rows] == list(written)
    needed = {key for key, is_needed in rows if is_needed}
    least = {key: value for key, value in written.items() if key in needed}
    assert parse(json.dumps(least), where="metadata.json").assumed == ()


def test_example_of_the_old_guide_is_read_as_the_page_says() -> None:
    (example,) = blocks("editions.md", "toml")
    reading = read(example)
    assert (reading.edition, reading.manifest.general.backends) == (2, (Backend.ROCM,))
    assert reading.manifest.general.license == UNKNOWN_LICENSE
    assert f"`{UNKNOWN_LICENSE}`" in page("editions.md")


def test_keys_that_changed_are_on_the_page() -> None:
    text = page("editions.md")
    gone = set(v1.KEYS["kernel", "*"]) - set(v2.KEYS["kernel", "*"])
    gone |= set(v1.KEYS["torch",]) - set(v2.KEYS["torch",])
    gone |= set(v2.KEYS["general",]) - set(v3.KEYS["general",])
    came = set(v4.KEYS["torch",]) - set(v3.KEYS["torch",])
    came |= set(v4.KEYS["general",]) - set(v3.KEYS["general",])
    assert gone == {"language", "universal", "cuda-minver", "cuda-maxver"}
    assert came == {"stable-abi", "cxx-flags", "source"}
    assert not [key for key in gone | came if f"`{key}`" not in text]


def test_gpl_is_not_guessed() -> None:
    assert recognise_license("GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007") is None


@pytest.mark.parametrize("name", ["variants.md", "metadata.md", "editions.md"])
def test_pages_are_short_and_their_links_lead_somewhere(name: str) -> None:
    assert len(page(name).splitlines()) <= 200
    links = re.findall(r"\]\(([a-z]+\.md)\)", page(name))
    assert not [link for link in links if not (DOCS / link).is_file()]
