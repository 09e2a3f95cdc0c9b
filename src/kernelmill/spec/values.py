"""``dataclass(frozen=True, slots=True, kw_only=True)``, at a sixth of the price of an import.

Before Python 3.13 the standard library compiles six methods for each class, one by one: of the
forty classes that a load imports, that took more than half of the time. Here the same few functions
serve all classes. All else, such as ``replace`` and ``fields``, is the standard library's, and so
is what a type checker sees. It is for the classes that a load or a build imports; others gain
nothing by it.
"""

# ruff: noqa: ANN001, ANN003, ANN201, ANN202, ARG001, N807 - a type checker sees another

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass

    __all__ = ["dataclass"]
else:
    import dataclasses
    from reprlib import recursive_repr

    def dataclass(*, frozen, slots, kw_only):
        """Make a class of values of which only the fields are written down."""
        if not (frozen and slots and kw_only):
            raise TypeError("another kind of class is the standard library's business")
        return _make

    def _make(plain):
        plain.__doc__ = plain.__doc__ or plain.__name__  # else its signature is looked for
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)
        cls = made(plain)
        own = {name for name, value in vars(plain).items() if value is not None}
        for function in (_init(cls), *SHARED):
            if function.__name__ not in own:
                setattr(cls, function.__name__, function)
        return cls

    def _init(cls):
        fields = {each.name: each for each in dataclasses.fields(cls)}
        names, hook = fields.keys(), getattr(cls, "__post_init__", None)

        def __init__(self, **values):
            if values.keys() != names:
                _complete(cls, fields, values)
            for name, value in values.items():
                object.__setattr__(self, name, value)
            if hook:
                hook(self)

        return __init__

    def _complete(cls, fields, values):
        """Add the defaults; complain of what is missing, or is no field."""
        where = f"{cls.__qualname__}.__init__()"
        if unknown := values.keys() - fields.keys():
            raise TypeError(f"{where} got an unexpected keyword argument {min(unknown)!r}")
        for name in fields.keys() - values.keys():
            if fields[name].default is not dataclasses.MISSING:
                values[name] = fields[name].default
            elif fields[name].default_factory is not dataclasses.MISSING:
                values[name] = fields[name].default_factory()
            else:
                raise TypeError(f"{where} missing 1 required keyword-only argument: {name!r}")

    def _picked(value, purpose):
        fields = vars(value.__class__)["__dataclass_fields__"].values()
        return tuple(getattr(value, it.name) for it in fields if getattr(it, purpose))

    def __eq__(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return _picked(self, "compare") == _picked(other, "compare")

    def __hash__(self):
        return hash(_picked(self, "compare"))

    @recursive_repr()
    def __repr__(self):
        shown = [it.name for it in dataclasses.fields(self) if it.repr]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({values})"

    def __setattr__(self, name, value):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self):
        return [getattr(self, each.name) for each in dataclasses.fields(self)]

    def __setstate__(self, state):
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)

    SHARED = (
        __eq__, __hash__, __repr__, __setattr__, __delattr__, __getstate__, __setstate__
    )  # fmt: skip
