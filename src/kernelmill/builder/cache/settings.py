"""Which caches are asked, and whose signatures count: from the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from kernelmill.builder.cache.keys import parse_trusted
from kernelmill.builder.cache.places import open_place
from kernelmill.builder.errors import CacheError, EntryRefused
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernelmill.builder.cache.keys import TrustedKey
    from kernelmill.builder.cache.places import Place

_Found = TypeVar("_Found")

CACHES: Final = "KERNELMILL_CACHES"
TRUSTED: Final = "KERNELMILL_TRUSTED_KEYS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """Caches, in the order in which they are asked."""

    places: tuple[Place, ...]
    trusted: tuple[TrustedKey, ...]

    def first(
        self, ask: Callable[[Place], _Found | None], note: Callable[[str], None]
    ) -> _Found | None:
        """Return the first answer of a cache; None if none has one.

        Args:
            ask: asks one cache.
            note: told of caches that do not answer.

        Raises:
            EntryRefused: a cache has what is asked for, and it cannot be believed.
            CacheError: no cache has it, and one does not answer.
        """
        silent: CacheError | None = None
        for place in self.places:
            try:
                found = ask(place)
            except EntryRefused:
                raise
            except CacheError as error:
                silent = error
                note(str(error))
                continue
            if found is not None:
                return found
        if silent:
            raise silent
        return None


def read_caches(
    env: Mapping[str, str], *, addresses: Sequence[str] = (), keys: Sequence[str] = ()
) -> Caches:
    """Return the caches that the environment names, or those of a command line in their place.

    Args:
        env: the environment; ``KERNELMILL_CACHES`` and ``KERNELMILL_TRUSTED_KEYS`` are lists with
            spaces between.
        addresses: of a command line.
        keys: of a command line, besides the environment's.

    Raises:
        InputError: an address or a key is none.
    """
    chosen = addresses or env.get(CACHES, "").split()
    trusted = [
        *(parse_trusted(it, where=TRUSTED) for it in env.get(TRUSTED, "").split()),
        *(parse_trusted(it, where="--trust") for it in keys),
    ]
    return Caches(places=tuple(open_place(it, env) for it in chosen), trusted=tuple(trusted))
