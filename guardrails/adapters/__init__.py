"""Ways into and out of a guarded stream, one file each."""
