"""The editions of ``build.toml``: one reader each, one model for all."""
