"""Summaries: how older messages are quoted to a summary model, and what is accepted from it."""
