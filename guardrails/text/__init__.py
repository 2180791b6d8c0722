"""Streaming text: channels, exact hold-back, segments, the normalised view, edits. No I/O."""
