"""A room for one build, with nothing in it but what was declared, and no way out."""
