# Builds for the CPU: kernel.cmake is all that they need.
