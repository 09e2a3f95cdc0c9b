// The size of the square tiles in which a GEMM walks through its operands.
#pragma once

constexpr int kTile = 16;
