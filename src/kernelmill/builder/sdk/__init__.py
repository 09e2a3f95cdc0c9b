"""Headers and link stubs of what is not installed: made once from named inputs, kept in a store."""
