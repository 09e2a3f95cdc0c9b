"""Translates CUDA sources for AMD GPUs, out of tree: copies of them and of headers they include.

The modules are a program too: a generated project carries them as the folder ``cmake/hipify``, and
its CMake runs that folder with the Python whose torch is built against. So they need nothing but
Python and torch's own ``torch.utils.hipify``, which is loaded from its files without the rest.
"""
