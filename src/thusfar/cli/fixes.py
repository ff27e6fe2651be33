"""Fixes: one imperative sentence for each rule of a wire, by the rule's short name.

Rules of several providers that ask for the same share a name, and so a fix.
"""

from __future__ import annotations

from typing import Final

UNKNOWN_RULE: Final = "Change the message so that this holds."

FIXES: Final = {
    "alternate": "Join neighbouring messages of the same role into one.",
    "cache-breakpoints": "Remove cache_control from the earliest blocks.",
    "call-after-user": "Put the user's message, or the responses, before the calls.",
    "call-answered": "Add the missing result directly behind the call, or remove the call.",
    "call-id-not-empty": "Give the call and its output one id.",
    "call-name": "Name the function that is called.",
    "call-role": "Move the call into an assistant message.",
    "calls-answered": "Add the missing results directly behind the calls, or remove the calls.",
    "calls-not-empty": "Remove the empty list.",
    "content": "Give the message text, or remove it.",
    "content-empty": "Give the message content, or remove it.",
    "contents": "Send at least one content.",
    "document-text": "Add a text block beside the document.",
    "error-empty": "Say in the result what failed.",
    "first-user": "Begin with a message of the user.",
    "function-name": "Add the name of the function that answered.",
    "id-characters": "Make a new id of letters, digits, underscores and dashes.",
    "id-form": "Make a new id of the allowed characters, for the call and its result.",
    "id-length": "Make a shorter id, for the call and its output.",
    "id-once": "Remove the second item, or give it an id of its own.",
    "id-prefix": "Leave the id out, or use the one the provider gave.",
    "id-unique": "Give the later call and its result an id of their own.",
    "media-role": "Move the images and documents into a user message.",
    "messages": "Send at least one message of the conversation.",
    "output-follows-call": "Put the call before its output, or remove the output.",
    "part-data": "Remove the part, or give it text.",
    "parts": "Give the content a part, or remove it.",
    "reasoning-followed": "Put the item it belongs to behind it, or remove the reasoning.",
    "response-after-call": "Put the responses directly behind their calls.",
    "response-count": "Add the missing responses, or remove the ones too many.",
    "result-call": "Put the call in the message before, or remove the result.",
    "result-call-id": "Add the id of the call that the message answers.",
    "result-follows-call": "Put the result directly behind its call, or remove it.",
    "result-once": "Remove the second result.",
    "results-first": "Move the results before the other blocks of the message.",
    "role": "Use one of these roles.",
    "server-calls-answered": "Remove the call, or add the result that the provider gave of it.",
    "system-place": "Move the system text out of the list, or behind a user message.",
    "text-blank": "Remove the text block, or write something in it.",
    "text-empty": "Remove the empty text block.",
    "tool-name": "Rename the tool within the allowed characters.",
    "tools-given": "Define the tools that the messages use.",
    "trailing-space": "Strip the white space at the end of the text.",
}


def fix_for(rule: str) -> str:
    """Give the fix for a rule, by its full name such as `anthropic/first-user`."""
    return FIXES.get(rule.rpartition("/")[2], UNKNOWN_RULE)
