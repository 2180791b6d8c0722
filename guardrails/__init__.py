"""The guard library; it knows no processor and no framework."""
