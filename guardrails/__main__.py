"""`python -m guardrails` is the command `guardrails`."""

from guardrail_processors_command import main

if __name__ == "__main__":
    main()
