"""What a Hub does, in terms of values: no HTTP here, and no SQL."""
