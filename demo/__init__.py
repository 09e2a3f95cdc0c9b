"""The main job, end to end: build the flagship, publish it, load it by name, check it."""
