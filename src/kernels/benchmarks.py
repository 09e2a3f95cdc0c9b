"""Ready-made benchmarks of common kernels, for scripts to extend."""

from kernelmill.runtime.upstream.benchmarks import (
    FlashAttentionBenchmark,
    FlashAttentionCausalBenchmark,
    FlashAttentionVarlenBenchmark,
    GeluAndMulBenchmark,
    LayerNormBenchmark,
    RMSNormBenchmark,
    SiluAndMulBenchmark,
)

__all__ = [
    "FlashAttentionBenchmark",
    "FlashAttentionCausalBenchmark",
    "FlashAttentionVarlenBenchmark",
    "GeluAndMulBenchmark",
    "LayerNormBenchmark",
    "RMSNormBenchmark",
    "SiluAndMulBenchmark",
]
