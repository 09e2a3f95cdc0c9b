#include "transpose.h"

void transpose_cpu(float* out, const float* input, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      out[column * rows + row] = input[row * columns + column];
    }
  }
}
