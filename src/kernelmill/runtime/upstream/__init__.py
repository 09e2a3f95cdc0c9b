"""The value types of Hugging Face's ``kernels._rust``, as thin shapes around those of ``spec``.

Programs that inspect kernels use them by name; the facade offers them. Each converts from and to
the value in ``spec`` that holds the rules. Names, messages and reprs are those of its version
0.17.2; ``docs/compatibility.md`` says where ours do more.
"""
