// torch-ext/torch_binding.h
