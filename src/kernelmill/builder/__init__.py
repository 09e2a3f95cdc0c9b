"""Build kernel repositories: toolchains, plans, generated projects, packages."""
