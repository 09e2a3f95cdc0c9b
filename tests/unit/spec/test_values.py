"""The cheap dataclasses against those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field
from typing import Any

import pytest

from kernelmill.spec.values import dataclass

MANY = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cheap:
    """A value."""

    size: int
    name: str = "a"
    parts: tuple[int, ...] = field(default_factory=lambda: (1, 2))
    note: str = field(default="", compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """A value."""

    size: int
    name: str = "a"
    parts: tuple[int, ...] = field(default_factory=lambda: (1, 2))
    note: str = field(default="", compare=False, repr=False)


def fresh() -> type[Any]:
    """Return a class of which there is no value yet."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Cheap:
        size: int
        name: str = "a"

    return Cheap


def test_values_are_shown_and_compared_as_usual() -> None:
    usual: Any = Usual(size=1, note="x")
    for _ in MANY:
        cheap = Cheap(size=1, note="x")
        assert str(cheap) == str(usual).replace("Usual", "Cheap")
        assert cheap == Cheap(size=1, note="y") != Cheap(size=2)
        assert hash(cheap) == hash(Cheap(size=1)) == hash(usual)
        assert cheap != usual
        assert [each.name for each in dataclasses.fields(cheap)] == list(Cheap.__slots__)
        assert dataclasses.asdict(cheap) == dataclasses.asdict(usual)
        assert dataclasses.replace(cheap, size=3) == Cheap(size=3)


def test_values_cannot_be_changed_but_copied() -> None:
    cheap = Cheap(size=1, note="x")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'size'"):
        cheap.size = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'size'"):
        del cheap.size
    for twin in (copy.copy(cheap), copy.deepcopy(cheap), pickle.loads(pickle.dumps(cheap))):
        assert (twin, twin.note) == (cheap, "x")
    assert not hasattr(cheap, "__dict__")


@pytest.mark.parametrize(
    ("args", "keywords", "message"),
    [
        ((), {}, "missing 1 required keyword-only argument: 'size'"),
        ((), {"size": 1, "nmae": "b"}, "unexpected keyword argument 'nmae'"),
        ((), {"nmae": "b"}, "unexpected keyword argument 'nmae'"),
        ((1,), {}, "takes 1 positional argument but 2 were given"),
    ],
)
def test_wrong_arguments_are_named(
    args: tuple[int, ...], keywords: dict[str, object], message: str
) -> None:
    usual: type[Any] = Usual
    for cls in (fresh(), usual):
        with pytest.raises(TypeError, match=message):
            cls(*args, **keywords)
    cls = fresh()
    assert [cls(size=each).size for each in MANY] == list(MANY)
    with pytest.raises(TypeError, match=message):
        cls(*args, **keywords)


def test_own_methods_are_kept() -> None:
    seen = []

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Own:
        size: int

        def __post_init__(self) -> None:
            seen.append(self.size)

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    for size in MANY:
        value, other = Own(size=size), Own(size=-1)
        assert (str(value), hash(value), value) == ("own", 7, other)
    assert seen[::2] == list(MANY)


def test_another_kind_of_class_is_refused() -> None:
    with pytest.raises(TypeError, match="the standard library's business"):
        dataclass(frozen=False, slots=True, kw_only=True)
