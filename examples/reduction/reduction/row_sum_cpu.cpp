#include "row_sum.h"

void row_sum_cpu(float* out, const float* input, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t column = 0; column < columns; ++column) sum += input[row * columns + column];
    out[row] = static_cast<float>(sum);
  }
}
