"""What ``kernel-builder doctor`` says of CUDA: every place in order, and why it is used or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.toolchain.programs import Candidate, Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.builder.cuda.toolchain import Trial

NAME: Final = "compiler for NVIDIA GPUs"


def cuda_program(trials: Sequence[Trial], cxx: Program) -> Program:
    """Return the trials in the form of the other tools.

    Args:
        trials: from ``probe``.
        cxx: the host's C++ compilers; a toolkit that does not take the chosen one is of no use.
    """
    return Program(name=NAME, candidates=tuple(_candidate(it, cxx.chosen) for it in trials))


def _candidate(trial: Trial, cxx: Candidate | None) -> Candidate:
    toolkit, objection = trial.toolkit, trial.objection
    if toolkit and cxx:
        objection = toolkit.objection_to(cxx)
    return Candidate(
        source=trial.source,
        path=trial.root,
        version=toolkit.summary if toolkit else "",
        problem=objection,
    )
