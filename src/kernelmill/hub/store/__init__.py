"""Where a Hub keeps its things: git packs in an object store, everything that changes in SQL."""
