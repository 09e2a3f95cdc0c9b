"""The headers that a ROCm build of torch has, made from those that every build brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.hipify.includes import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.hipify.translation import Translator

_CUDA: Final = "c10/cuda/"
_SETTINGS: Final = "c10/hip/impl/hip_cmake_macros.h"


def has_rocm_headers(torch_include: Path) -> bool:
    """Return whether these headers are those of a ROCm build."""
    return (torch_include / "c10/hip/HIPStream.h").is_file()


def translate_torch_headers(torch_include: Path, translator: Translator) -> dict[str, str]:
    """Return path -> text of ``c10/hip/*.h``: torch's own of ``c10/cuda``, under HIP's names."""
    texts = {
        hip: translator.translate(read_text(torch_include / cuda), suffix=".h")
        for cuda, hip in translator.names.items()
        if cuda.startswith(_CUDA) and (torch_include / cuda).is_file()
    }
    return {**texts, _SETTINGS: "#pragma once\n"} if texts else {}
