"""Read AMD code objects: the kernels of one GPU architecture and what they cost.

Formats: https://llvm.org/docs/AMDGPUUsage.html, "Code Object Metadata" (a MessagePack note) and
"Kernel Descriptor" (64 bytes at the symbol ``<kernel>.kd``).
"""

from __future__ import annotations

from dataclasses import field
from struct import Struct
from typing import TYPE_CHECKING, Final

from kernelmill.binary import bundle, elf, msgpack
from kernelmill.binary._metadata import Fields
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.binary.elf import Elf, Symbol

NOTE_OWNER: Final = "AMDGPU"
NOTE_METADATA: Final = 32
TRIPLE: Final = "amdgcn-amd-amdhsa"
OLDEST_VERSION: Final = 4
VERSION_OF_ABI: Final = 2
"""``e_ident[EI_ABIVERSION]`` plus this is the code object version: 3 stands for V5."""
DESCRIPTOR: Final = Struct("<III4xq20xIIIHH4x")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One kernel argument, the hidden ones included."""

    name: str
    """Empty for hidden arguments, and for all of them where the compiler keeps no names."""
    offset: int
    size_bytes: int
    value_kind: str
    """``by_value``, ``global_buffer``, ``hidden_block_count_x`` and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """What the hardware is told before the first instruction."""

    entry_address: int
    """Of the first instruction, in the code object's address space."""
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    """Which user SGPRs are set up."""
    kernarg_preload: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel: resources from the metadata note, place in the file from the symbols."""

    name: str
    symbol: str
    """Of the descriptor: ``<name>.kd``."""
    vgpr_count: int
    """Vector registers per lane, accumulation registers included."""
    agpr_count: int
    sgpr_count: int
    vgpr_spills: int
    sgpr_spills: int
    lds_bytes: int
    """Static local data share of one workgroup; a launch may add more."""
    private_bytes: int
    """Scratch memory of one lane: spills and arrays that no register holds."""
    kernarg_bytes: int
    max_workgroup_size: int
    wavefront_size: int
    uses_dynamic_stack: bool
    args: tuple[Argument, ...]
    descriptor: Descriptor
    code_address: int
    code_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeObject:
    """The device code of one architecture."""

    target: str
    """As compiled for: ``gfx942``, or with features ``gfx90a:sramecc+:xnack-``."""
    version: int
    """Code object version: 5 for ROCm 6 and 7, 6 for the newest compilers."""
    kernels: tuple[Kernel, ...]
    """In the order of the metadata, which is that of the source."""
    elf: Elf = field(repr=False)

    @property
    def arch(self) -> str:
        """Return the architecture without its features."""
        return self.target.partition(":")[0]

    def code(self, kernel: Kernel) -> bytes:
        """Return the machine code of one of the kernels."""
        what = f"the code of {kernel.name!r}"
        return self.elf.bytes_at(kernel.code_address, kernel.code_size, what)


def read_code_objects(data: bytes, *, where: str = "") -> tuple[CodeObject, ...]:
    """Return all AMD code in ``data``, in file order; nothing for a library that has none.

    Args:
        data: a host library or object file, an offload bundle, or one code object.
        where: what errors call it.

    Raises:
        BinaryError: none of the three, or damaged.
    """
    if bundle.is_bundle(data):
        return _from_entries(bundle.parse_section(data, where=where), where)
    host = elf.parse(data, where=where)
    if host.machine == elf.MACHINE_AMDGPU:
        return (parse(data, where=where),)
    section = host.section(bundle.SECTION_NAME)
    if section is None:
        return ()
    place = f"{where} {bundle.SECTION_NAME}".lstrip()
    return _from_entries(bundle.parse_section(host.content(section), where=place), where)


def _from_entries(entries: tuple[bundle.Entry, ...], where: str) -> tuple[CodeObject, ...]:
    return tuple(
        parse(entry.data, where=f"{where} [{entry.target}]".lstrip())
        for entry in entries
        if entry.target
    )


def parse(data: bytes, *, where: str = "") -> CodeObject:
    """Read one code object.

    Raises:
        BinaryError: not an AMD code object, of a version before 4, or damaged.
    """
    file = elf.parse(data, where=where)
    window = file.window
    if file.machine != elf.MACHINE_AMDGPU:
        raise window.fault(f"not AMD device code: ELF machine {file.machine}")
    version = file.abi_version + VERSION_OF_ABI
    if version < OLDEST_VERSION:
        raise window.fault(
            f"code object version {version} is older than {OLDEST_VERSION}",
            hint="build with -mcode-object-version=5",
        )
    metadata = _metadata(file)
    triple, _, target = metadata.text("amdhsa.target").partition("--")
    if triple != TRIPLE or not target:
        raise window.fault(f"the target is {metadata.text('amdhsa.target')!r}, not for {TRIPLE}")
    symbols = {symbol.name: symbol for symbol in file.symbols() if symbol.section}
    kernels = (_kernel(entry, file, symbols) for entry in metadata.records("amdhsa.kernels"))
    return CodeObject(target=target, version=version, kernels=tuple(kernels), elf=file)


def _metadata(file: Elf) -> Fields:
    for note in file.notes():
        if (note.owner, note.type) == (NOTE_OWNER, NOTE_METADATA):
            value = msgpack.decode(note.description, where=f"{file.where} metadata".lstrip())
            return Fields.of(value, window=file.window, what="the metadata")
    raise file.window.fault("device code without a metadata note")


def _kernel(fields: Fields, file: Elf, symbols: Mapping[str, Symbol]) -> Kernel:
    name, symbol = fields.text(".name"), fields.text(".symbol")
    code = symbols.get(name)
    if symbol not in symbols or code is None:
        raise file.window.fault(
            f"kernel {name!r} has no symbol {name if code is None else symbol!r}"
        )
    descriptor = _descriptor(file, symbols[symbol])
    if descriptor.entry_address != code.address:
        raise file.window.fault(
            f"kernel {name!r} starts at {descriptor.entry_address:#x} by its descriptor,"
            f" at {code.address:#x} by its symbol"
        )
    return Kernel(
        name=name,
        symbol=symbol,
        vgpr_count=fields.number(".vgpr_count"),
        agpr_count=fields.number(".agpr_count", default=0),
        sgpr_count=fields.number(".sgpr_count"),
        vgpr_spills=fields.number(".vgpr_spill_count", default=0),
        sgpr_spills=fields.number(".sgpr_spill_count", default=0),
        lds_bytes=fields.number(".group_segment_fixed_size"),
        private_bytes=fields.number(".private_segment_fixed_size"),
        kernarg_bytes=fields.number(".kernarg_segment_size"),
        max_workgroup_size=fields.number(".max_flat_workgroup_size"),
        wavefront_size=fields.number(".wavefront_size"),
        uses_dynamic_stack=bool(fields.number(".uses_dynamic_stack", default=0)),
        args=tuple(_argument(entry) for entry in fields.records(".args", default=())),
        descriptor=descriptor,
        code_address=code.address,
        code_size=code.size,
    )


def _argument(fields: Fields) -> Argument:
    return Argument(
        name=fields.text(".name", default=""),
        offset=fields.number(".offset"),
        size_bytes=fields.number(".size"),
        value_kind=fields.text(".value_kind"),
    )


def _descriptor(file: Elf, symbol: Symbol) -> Descriptor:
    what = f"the kernel descriptor {symbol.name!r}"
    offset = file.offset_of(symbol.address, what)
    _group, _private, _kernarg, entry, rsrc3, rsrc1, rsrc2, properties, preload = (
        file.window.unpack(DESCRIPTOR, offset, what)
    )
    return Descriptor(
        entry_address=symbol.address + entry,
        rsrc1=rsrc1,
        rsrc2=rsrc2,
        rsrc3=rsrc3,
        properties=properties,
        kernarg_preload=preload,
    )
