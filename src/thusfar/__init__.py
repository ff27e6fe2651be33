"""thusfar: the history layer for LLM applications and AI workflows."""

from thusfar._version import __version__

__all__ = ["__version__"]
