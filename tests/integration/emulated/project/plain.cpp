// Nothing of torch: the launchers of kernels.hip are called through ctypes.
#include "kernels.h"
