"""Compile CUDA: which toolkit and compiler, for which architectures, on machines without a GPU.

``probe`` finds the toolkits, ``toolchain`` chooses among them, ``archs`` knows what may be asked of
them. The generated project does the rest (``cmake/cuda.cmake``), also without kernelmill: its
``cmake/cuda_facts.py`` looks at the same places in the same order.
"""
