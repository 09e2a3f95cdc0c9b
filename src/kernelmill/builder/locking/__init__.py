"""``build.lock``: all inputs of a kernel's release builds, by name, version, file and hash."""
