from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.card import VARIABLES, exported_functions, fill_card, layer_classes
from kernelmill.builder.cli import main
from kernelmill.builder.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = """\
[general]
name = "my-toy"
version = 3
edition = 5
license = "MIT"
backends = ["cpu"]
source = "https://example.org/toy"
{hub}
[torch-noarch]
"""
HUB = '[general.hub]\nrepo-id = "acme/my-toy"\n'
CARD = """\
---
license: {{ license | lower }}
---
# {{ repo_id }} {{ version }}
{% for name in functions %}
- `{{ name }}`
{% endfor %}
{% if layers %}
Layers: {{ layers | join(", ") }}.
{% endif %}
{% if has_benchmark %}
Benchmarked.
{% endif %}
{{ source or "-" }} {{ upstream or "-" }}
"""
FILLED = """\
---
license: mit
---
# acme/my-toy 3
- `double`
- `halve`
Layers: Wide, Deep.
Benchmarked.
https://example.org/toy -
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    package = tmp_path / "torch-ext/my_toy"
    package.mkdir(parents=True)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/benchmark.py").touch()
    (tmp_path / "build.toml").write_text(MANIFEST.format(hub=HUB))
    (tmp_path / "CARD.md").write_text(CARD)
    # Importing it would fail: nothing of a kernel is run to write its card.
    (package / "__init__.py").write_text(
        'import no_such_module\n__all__ = ["double", "halve"]\n__all__ += ["layers"]\n'
    )
    (package / "layers.py").write_text(
        "class Base(nn.Module): ...\nclass Wide(torch.nn.Module): ...\nclass Deep(Base): ...\n"
        '__all__ = ["Wide", "Deep"]\n'
    )
    return tmp_path


def test_a_card_is_filled_in_beside_the_builds(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fill-card", str(kernel)]) == 0
    assert capsys.readouterr().out == f"{kernel}/build/CARD.md\n"
    assert (kernel / "build/CARD.md").read_text() == FILLED
    assert main(["fill-card", str(kernel), "--repo-id", "other/one", "-o", "-"]) == 0
    assert "# other/one 3\n" in capsys.readouterr().out


def test_a_card_without_an_owner_is_not_guessed_at(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """H2: the owner of a card is never guessed either."""
    (kernel / "build.toml").write_text(MANIFEST.format(hub=""))
    assert main(["fill-card", str(kernel)]) == 2
    said = capsys.readouterr().err
    assert "CARD.md: cannot be filled in: 'repo_id' is undefined" in said
    assert 'pass --repo-id owner/name, or set repo-id = "owner/name" in [general.hub]' in said
    assert not (kernel / "build").exists()


def test_no_card_is_one_clear_error(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kernel / "CARD.md").unlink()
    assert main(["fill-card", str(kernel)]) == 2
    assert "there is no CARD.md" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("template", "problem", "where"),
    [
        pytest.param(
            "{{ owner }}", "cannot be filled in: 'owner' is undefined", "CARD.md", id="name"
        ),
        pytest.param("a\n{{ version", "this is no template: ", "CARD.md:2", id="syntax"),
        pytest.param(
            "{{ ''.__class__.__mro__ }}",
            "cannot be filled in: access to attribute '__class__'",
            "CARD.md",
            id="reaches-into-python",
        ),
    ],
)
def test_a_card_that_is_wrong_is_refused(template: str, problem: str, where: str) -> None:
    with pytest.raises(SourceError) as caught:
        fill_card(template, {"version": 1, "repo_id": "a/b"}, where="CARD.md")
    assert caught.value.problem.startswith(problem)
    assert caught.value.where == where


def test_the_error_names_every_variable() -> None:
    with pytest.raises(SourceError) as caught:
        fill_card("{{ owner }}", {"repo_id": "a/b"}, where="CARD.md")
    assert caught.value.hint == f"a card may name {', '.join(VARIABLES)}"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("", ()),
        ('__all__ = ("a", "b")', ("a", "b")),
        ('__all__: list[str] = ["a", "layers"]', ("a",)),
        ('__all__ = ["a"]\n__all__ += ["b", "a"]', ("a", "b")),
        ("__all__ = names()", ()),
    ],
)
def test_functions_are_those_of_all(source: str, names: tuple[str, ...]) -> None:
    assert exported_functions(source) == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("class A(nn.Module): ...", ("A",)),
        ("class A(Module): ...\nclass _B(A): ...", ("A",)),
        ("class A: ...\nclass B(int): ...", ()),
        ("class A(nn.Module): ...\nclass B(nn.Module): ...\n__all__ = ['B']", ("B",)),
    ],
)
def test_layers_are_modules(source: str, names: tuple[str, ...]) -> None:
    assert layer_classes(source) == names
