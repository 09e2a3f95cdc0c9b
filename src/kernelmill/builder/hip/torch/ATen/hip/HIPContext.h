// Stands in for a ROCm build's header of this name, where the torch that is built against is none.
#pragma once

#include <ATen/Context.h>
#include <ATen/hip/Exceptions.h>
#include <ATen/hip/HIPContextLight.h>
#include <c10/hip/HIPStream.h>
