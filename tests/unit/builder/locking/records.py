"""Made-up SDKs."""

from __future__ import annotations

from kernelmill.builder.sdk.format import SdkInput, SdkRecord


def record(kind: str, version: str, *, nar: str = "1", file: str = "", cuda: str = "") -> SdkRecord:
    """Return an SDK that is made of one file."""
    return SdkRecord(
        kind=kind,
        version=version,
        platform="x86_64-linux",
        inputs=(SdkInput(name=kind, version=version, file=file or f"{kind}.whl", sha256="a" * 64),),
        facts={"cuda": cuda} if cuda else {},
        nar_sha256=nar * 64,
    )


STORE = (
    record("abi-stubs", "2.28"),
    record("cxx", "12.2.0"),
    record("tools", "1"),
    record("torch", "2.12.0+cu130", cuda="13.0"),
    record("torch", "2.13.0+cpu"),
)
"""All that variants for the CPU need."""
