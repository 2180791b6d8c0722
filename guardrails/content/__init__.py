"""The content of chunks: where it is, how it is written, and how it is put back."""
