"""Put the stand-in for the HIP runtime into this process, and answer its questions."""

from __future__ import annotations

import atexit
import ctypes
from ctypes import c_char_p, c_void_p
from typing import TYPE_CHECKING

from kernelmill.emulator.hip_runtime.abi import CALLBACKS, INTERRUPTED, Emulator, HipError
from kernelmill.emulator.hip_runtime.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kernelmill.emulator.hip_runtime.session import Session


class HipRuntime:
    """The stand-in libraries of this process, attached to a session.

    The session is made when the first call needs it: a process that never touches the device pays
    for loading two small libraries and nothing else.
    """

    def __init__(self, libraries: Mapping[int, Path], make_session: Callable[[], Session]) -> None:
        """Load the libraries.

        NOTE: a library that needs ``libamdhip64.so.7`` gets the one with this soname that is
        loaded already, whatever the search path says.

        Raises:
            CompileError: they cannot be loaded.
        """
        self._make_session = make_session
        self._session: Session | None = None
        try:
            self._libs = [ctypes.CDLL(str(path)) for _, path in sorted(libraries.items())]
        except OSError as error:
            raise CompileError(f"the stand-in cannot be loaded: {error}") from error
        self._main = self._libs[-1]
        self._main.emulator_state.restype = c_void_p
        for lib in self._libs[:-1]:
            lib.emulator_share(c_void_p(self._main.emulator_state()))
        self._callbacks = Emulator(
            **{name: kind(self._answer(name)) for name, kind in CALLBACKS.items()},
            interrupt=ctypes.cast(ctypes.pythonapi.PyErr_SetInterrupt, c_void_p),
        )
        self._main.emulator_attach(ctypes.byref(self._callbacks))
        atexit.register(self._main.emulator_detach)

    @property
    def session(self) -> Session:
        """Return the session; make it if nothing was asked of the device yet."""
        if self._session is None:
            self._session = self._make_session()
        return self._session

    @property
    def is_used(self) -> bool:
        """Say whether anything was asked of the device yet."""
        return self._session is not None

    def function(self, name: str) -> int:
        """Return the address of one of the stand-in's C functions."""
        return ctypes.cast(self._main[name], c_void_p).value or 0

    def take_fault(self) -> HipError | None:
        """Return the error of a launch that no one has seen, and count it as seen."""
        text = c_char_p()
        error = int(self._main.emulator_take_fault(ctypes.byref(text)))
        return HipError(error) if error else None

    def _answer(self, name: str) -> Callable[..., int]:
        """Return a callback that turns what the answer raises into a HIP error: C cannot raise."""

        def call(*arguments: object) -> int:
            # Imported with the first question: NumPy and the emulator take 0.2 s.
            from kernelmill.emulator.hip_runtime.answers import (  # noqa: PLC0415 - see above
                Answers,
                hip_error,
            )

            try:
                answers = Answers(lambda: self.session)
                return int(getattr(answers, name)(*arguments))
            except KeyboardInterrupt:
                # Raised again when this has returned: here nobody could catch it.
                self._main.emulator_report(HipError.LAUNCH_FAILURE, b"the launch was interrupted")
                return INTERRUPTED
            except Exception as exception:  # noqa: BLE001 - C is the border; the session has it
                notes = getattr(exception, "__notes__", ())
                error, text = hip_error(exception), "\n  ".join([str(exception), *notes])
            self._main.emulator_report(error, text.encode())
            return error

        return call
