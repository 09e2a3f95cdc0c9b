#pragma once
#include <torch/all.h>
void scale(torch::Tensor& t, double by);
