"""Tests of the chunk models and of their way to JSON and back."""
