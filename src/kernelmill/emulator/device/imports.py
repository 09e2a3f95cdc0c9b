"""Do something just before a module is imported for the first time."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Action = Callable[[ModuleSpec], None]


class ImportHook(MetaPathFinder):
    """Finds what the other finders find, and acts between finding and running it.

    Looking for a module (``importlib.util.find_spec``) does not import it, and triggers nothing.
    """

    def __init__(self, actions: Mapping[str, Action]) -> None:
        """Remember module name -> what to do before it runs. ``install`` makes it effective."""
        self._actions = dict(actions)

    def install(self) -> None:
        """Put the hook before all finders."""
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's spec, with the action in front, if there is one for it."""
        action = self._actions.get(fullname)
        if action is None:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next(filter(None, found), None)
        if spec is not None and spec.loader is not None:
            _act_before(spec, action)
        return spec


def _act_before(spec: ModuleSpec, action: Action) -> None:
    loader = spec.loader
    assert loader is not None
    run = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        action(spec)
        run(module)

    # On the instance, not around it: others ask a loader for much more than to run the module.
    vars(loader)["exec_module"] = exec_module
