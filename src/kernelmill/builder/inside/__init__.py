"""A hermetic build, seen from inside: what every sandbox starts, ours and Nix's alike.

The command is ``python3 -m kernelmill.builder.inside /run/job.json``, the root folder is the SDK
``cxx``, and in it are

====================  ==============================================================
``/src``              the kernel's sources, those that its manifest names; read only
``/sdk/NAME/tree``    each SDK; read only, in a ``/sdk`` that may be written to
``/builder``          the package ``kernelmill``, on ``PYTHONPATH``; read only
``/run/job.json``     what to build: ``order``
``/build``, ``/tmp``  empty, writable
``/out``              empty, writable: where the variant goes
====================  ==============================================================
"""
