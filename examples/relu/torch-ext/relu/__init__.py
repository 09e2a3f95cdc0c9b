"""The larger of each element and zero, with a gradient, inside and outside of torch.compile."""

from . import layers  # noqa: TID252 - each build has a name of its own
from ._functions import relu  # noqa: TID252 (see above)

__all__ = ["layers", "relu"]
