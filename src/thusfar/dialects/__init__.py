"""Dialects: one per wire format, a registry, and detection from the messages looked at."""

from __future__ import annotations

from thusfar.dialects.base import Dialect, DialectMismatch

__all__ = ["Dialect", "DialectMismatch"]
