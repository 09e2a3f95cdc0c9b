// torch-ext/torch_binding.cpp
