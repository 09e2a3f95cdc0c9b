"""Copy the sources of a ROCm build, translated, to another folder.

python cmake/hipify --root KERNEL --output FOLDER [--include DIR] [--torch-include DIR] FILE...
python cmake/hipify --output FOLDER --torch-include DIR

FOLDER then holds FILEs, and every header of the kernel that they include, under the same paths.
Files that are right already are not touched. FOLDER.json says what was renamed, and FOLDER.inputs
lists the originals. Status 1: something of CUDA has no counterpart; each is named on stderr.
Without FILEs, FOLDER gets the headers of a ROCm build of torch, unless DIR has them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from kernelmill.builder.hipify.includes import read_closure, read_text
from kernelmill.builder.hipify.leftovers import find_leftovers
from kernelmill.builder.hipify.torch_headers import has_rocm_headers, translate_torch_headers
from kernelmill.builder.hipify.translation import (
    NoHipifyError,
    Translator,
    find_hipify,
    frame,
    read_version,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSION: Final = 1
VERBATIM: Final = (".hip",)
"""Sources that are HIP already."""
_MESSAGE: Final = "{}:{}: error: {!r} has no counterpart in HIP\n"


def main(argv: Sequence[str]) -> int:
    """Translate; see above."""
    args = _parse(argv)
    try:
        hipify = find_hipify(args.torch_include)
        if not args.files:
            return _make_torch_headers(args.output, Path(args.torch_include), hipify)
        texts = read_closure(args.root, args.files, args.include)
    except (NoHipifyError, OSError) as error:
        sys.stderr.write(f"error: cannot translate CUDA sources: {error}\n")
        return 2
    key = _key(texts, hipify)
    if not _is_done(args.output, key, texts):
        leftovers, status = _translate(args.output, key, texts, hipify)
        sys.stderr.write(leftovers)
        if status:
            return status
    inputs = "".join(f"{args.root / path}\n" for path in texts)
    _write(Path(f"{args.output}.inputs"), inputs)
    return 0


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hipify", allow_abbrev=False)
    parser.add_argument("--root", type=Path, default=Path())
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--torch-include", default="")
    parser.add_argument("files", nargs="*")
    return parser.parse_args(argv)


def _make_torch_headers(output: Path, torch_include: Path, hipify: Path) -> int:
    if has_rocm_headers(torch_include):
        return 0
    stamp = Path(f"{output}.key")
    cuda = sorted((torch_include / "c10/cuda").rglob("*.h"))
    key = _key({str(path): read_text(path) for path in cuda}, hipify)
    if stamp.is_file() and stamp.read_text("utf-8") == key:
        return 0
    for path, text in translate_torch_headers(torch_include, Translator(hipify)).items():
        _write(output / path, text)
    _write(stamp, key)
    return 0


def _translate(output: Path, key: str, texts: Mapping[str, str], hipify: Path) -> tuple[str, int]:
    translator = Translator(hipify)
    translated = {
        path: text
        if path.endswith(VERBATIM)
        else translator.translate(text, suffix=PurePosixPath(path).suffix)
        for path, text in texts.items()
    }
    leftovers = [it for it in find_leftovers(translated) if not it[0].endswith(VERBATIM)]
    if leftovers:
        return "".join(_MESSAGE.format(*it) for it in leftovers), 1
    renamed = {
        path: translator.renamed(text, translated[path])
        for path, text in texts.items()
        if text != translated[path]
    }
    for path, text in translated.items():
        _write(output / path, text if path.endswith(VERBATIM) else frame(path, text))
    _remove_others(output, texts)
    record = {"version": VERSION, "key": key, "hipify": read_version(hipify), "renamed": renamed}
    _write(Path(f"{output}.json"), json.dumps(record, indent=2, sort_keys=True) + "\n")
    return "", 0


def _key(texts: Mapping[str, str], hipify: Path) -> str:
    """Return what the result depends on: the sources, torch's tables and this program."""
    digest = hashlib.sha256()
    for path, text in texts.items():
        digest.update(f"{path}\0{len(text)}\0".encode("utf-8", "surrogateescape"))
        digest.update(text.encode("utf-8", "surrogateescape"))
    for folder in (hipify, Path(__file__).parent):
        for module in sorted(folder.glob("*.py")):
            digest.update(module.read_bytes())
    return digest.hexdigest()


def _is_done(output: Path, key: str, texts: Mapping[str, str]) -> bool:
    try:
        record = json.loads(Path(f"{output}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return record.get("key") == key and all((output / path).is_file() for path in texts)


def _write(path: Path, text: str) -> None:
    content = text.encode("utf-8", "surrogateescape")
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)


def _remove_others(output: Path, paths: Mapping[str, str]) -> None:
    """Remove copies of files that are gone: they could hide an error."""
    for path in sorted(output.rglob("*")):
        if path.is_file() and path.relative_to(output).as_posix() not in paths:
            path.unlink()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
