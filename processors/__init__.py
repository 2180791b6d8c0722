"""Built-in processors; `guardrails` finds them by entry point, exactly as it finds anyone else's."""
