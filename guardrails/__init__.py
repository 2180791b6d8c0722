"""Guards what language models say while they say it: exact streaming redaction and blocking."""

from guardrails.choices import ChoiceError
from guardrails.chunks import Chunk, ChunkError, dump_chunk, dump_json, parse_chunk
from guardrails.config import load_pipeline
from guardrails.inputs import GuardedInput
from guardrails.pipeline import BlockingStream, Pipeline
from guardrails.problems import ConfigError, Problem
from guardrails.processor import (
    END,
    WAKE,
    AsWritten,
    Block,
    Check,
    Finding,
    Item,
    Processor,
    Refusal,
    Report,
    Run,
    Step,
    Strategy,
)
from guardrails.stream import GuardedStream, Result
from guardrails.text.pattern import Pattern
from guardrails.text.processor import Parallel, TextProcessor
from guardrails.text.reader import Detection, Segment

__all__ = [
    "END",
    "WAKE",
    "AsWritten",
    "Block",
    "BlockingStream",
    "Check",
    "ChoiceError",
    "Chunk",
    "ChunkError",
    "ConfigError",
    "Detection",
    "Finding",
    "GuardedInput",
    "GuardedStream",
    "Item",
    "Parallel",
    "Pattern",
    "Pipeline",
    "Problem",
    "Processor",
    "Refusal",
    "Report",
    "Result",
    "Run",
    "Segment",
    "Step",
    "Strategy",
    "TextProcessor",
    "dump_chunk",
    "dump_json",
    "load_pipeline",
    "parse_chunk",
]
