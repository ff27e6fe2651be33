"""Codes: the closed table of every error, diagnostic, warning and repair code.

A code is never renamed and never reused. Each has one page, `docs/errors/CODE.md`; a test compares
the two lists.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal

CodeKind = Literal["error", "diagnostic", "warning"]

_ERRORS = {
    "HISTORY_ERROR": "The base of every error of the library.",
    "INVALID_OPTIONS": "An option had the wrong type or an impossible value.",
    "INVALID_TRANSCRIPT": "Input could not be read as the format it was taken for.",
    "INVALID_COMPOSITION": "No request could be composed as authored.",
    "REQUEST_TOO_LARGE": "No authorised representation fitted the input budget.",
    "REPRESENTATION_UNAVAILABLE": "An authorised representation was not ready.",
    "UNSUPPORTED_PART": "A part of a message had no form on the wire it was lowered to.",
    "PROVIDER_FAILED": "A provider refused or failed.",
    "CONTEXT_LENGTH_EXCEEDED": "A provider found the request longer than the model's window.",
    "PROVIDER_REFUSED": "A provider refused the request as it was.",
    "PROVIDER_RATE_LIMITED": "A provider took no more requests for a time.",
    "PROVIDER_UNAVAILABLE": "A provider could not be reached or failed on its side.",
    "PROVIDER_TIMEOUT": "A provider was silent for too long.",
    "PROVIDER_ANSWER_INVALID": "A provider's answer could not be read or broke off.",
    "OUTPUT_REJECTED": "No answer fitted the output schema within the retries.",
    "TOOL_LOOP_LIMIT": "A model still called tools after the last step allowed.",
    "MISSING_EXTRA": "A feature needed a package that an optional extra installs.",
    "THREAD_ERROR": "A stored thread refused an operation.",
    "THREAD_NOT_FOUND": "No thread of that id is in the namespace.",
    "THREAD_DELETED": "The thread was deleted, and its id can never be used again.",
    "THREAD_IN_USE": "An owner has a position where something was to be deleted.",
    "MESSAGE_NOT_FOUND": "A message id is not stored in the thread.",
    "MESSAGE_REDACTED": "A message was erased, and its id can never be used again.",
    "IDENTITY_CONFLICT": "An id or a revision stood for something else than the caller held.",
    "INVALID_GROUP": "Messages were not one causal group, or a place was not the border of one.",
    "INVALID_MESSAGE": "A message, an id or metadata could not be stored.",
    "COMMIT_FAILED": "A turn was answered and could not be published.",
    "UNSUPPORTED_CAPABILITY": "Something needed what the thread or its store does not have.",
    "STORAGE_ERROR": "The database could not do its work.",
    "STORAGE_BUSY": "Somebody else held the database for too long.",
    "STORAGE_FULL": "The disk, or what the database may use of it, was full.",
    "STORAGE_READ_ONLY": "The database could not be written.",
    "STORAGE_UNAVAILABLE": "The database could not be opened or reached.",
    "STORAGE_CLOSED": "The store was used after it was closed.",
    "CORRUPT_RECORD": "A stored record or the database file was damaged.",
    "SCHEMA_TOO_NEW": "The database was written by a newer version.",
    "SUMMARY_FAILED": "A summary could not be made within its attempts.",
    "PREPARATION_FAILED": "A hook of a step, or an approval check, raised or took too long.",
    "RESOURCE_UNAVAILABLE": "A hook could not read a resource.",
    "REQUEST_INSPECTION_UNAVAILABLE": "No receipt of that request is kept.",
    "PROCESS_ERROR": "A process could not do what was asked.",
    "INVALID_DEFINITION": "A process was not put together in a way that could run.",
    "INVALID_STATE": "A path or an update of state could not be carried out.",
    "INVALID_TEMPLATE": "A prompt template could not be read or rendered.",
    "RETRIES_EXHAUSTED": "No answer was valid within the retries of a task.",
    "STEP_LIMIT": "A run needed more steps than it was given.",
    "CALL_LIMIT": "A run needed more model calls than it was given.",
    "TOKEN_LIMIT": "A run needed more tokens than it was given.",
    "LOOP_DETECTED": "A model gave the same answer in the same state again and again.",
    "STEP_TIMEOUT": "A step or a run took longer than it was given.",
    "INPUT_INVALID": "The input of a process did not fit its schema.",
    "OUTPUT_INVALID": "The output of a process did not fit its schema.",
    "HISTORY_LIMIT": "The action log was full, and its author chose to stop there.",
    "NO_ROUTE": "A run could not go on from a task.",
    "TASK_FAILED": "A function that belongs to a task raised.",
    "RUN_CANCELLED": "A run was cancelled before its end.",
    "RECORDING_DIVERGED": "A replayed model was asked something else than the recorded one.",
    "REPLAY_DIVERGED": "A replayed run did something else than the captured one.",
    "RUN_NOT_FOUND": "No run of that id is in the namespace.",
    "RUN_EXISTS": "A run of that id is in the store.",
    "RUN_HELD": "Somebody else runs a stored run.",
    "PROCESS_RUNNING": "A process was used while it runs.",
}

_DIAGNOSTICS = {
    "INVALID_HISTORY_TRANSCRIPT": "Calls and results of the transcript did not pair.",
    "HISTORY_NO_SOURCE": "A projection had no transcript to project.",
    "REQUEST_INPUT_LIMIT": "The request needed more input tokens than the limit.",
    "HISTORY_EXACT_REMEDY": "Exact history did not fit; a policy would authorise a shorter view.",
    "EXACT_REPRESENTATION_EXHAUSTED": "The smallest authorised view still did not fit.",
    "WIRE_RULE_BROKEN": "A message broke a rule of the wire that it is in.",
    "INVALID_HISTORY_COMPOSITION": "More than one history policy was active.",
    "INVALID_LADDER": "The forms of a contributor could not stand together.",
    "LARGEST_REQUIRED_CONTRIBUTOR": "One of the largest parts of a request that did not fit.",
    "REPRESENTATION_CAPABILITY_UNAVAILABLE": "A form that is authorised could not be had.",
}

_WARNINGS = {
    "HISTORY_CAP_OVERFLOW": "The newest unit alone was larger than a cap and was kept whole.",
    "HISTORY_CAUSAL_BOUNDARY": "An older unit did not fit and no cap was used up exactly.",
    "HISTORY_OPENER_OUTSIDE_CAP": "The user input that opened the newest turn was added outside "
    "the caps.",
    "HISTORY_OPEN_CALLS": "The transcript ends with calls that wait for their results.",
    "HISTORY_TRANSCRIPT_DEFECT": "Exact history was sent although calls and results do not pair.",
    "HISTORY_EXACT_NEAR_LIMIT": "Exact history passed the optimization watermark; "
    "history.recent() or history() would send less.",
    "HISTORY_DIGEST_NOT_SHORTER": "The digest was not shorter than what it stands for.",
    "HISTORY_DIGEST_SHORTENED": "The lines of the digest were shortened to fit the limit.",
    "HISTORY_RECENT_ONLY": "Older messages were left out because no summary was ready.",
    "MODEL_CAPACITY_UNKNOWN": "The model is not in the capacity table.",
    "HISTORY_SUMMARY_INLINE": "A summary was made before the request could be sent.",
    "HISTORY_SUMMARY_JOINED": "The request waited for a summary that was being made already.",
    "HISTORY_SUMMARY_STALE": "The summary used ends before the coming cut.",
    "HISTORY_SUMMARY_FAILED": "A summary could not be made, and another form was used.",
    "SUMMARY_MODEL_RESTING": "A summary model failed in a row and is left alone for a while.",
    "SUMMARY_DAMAGED": "A stored summary could not be read, and was ignored.",
    "HISTORY_PREPARATION_SCHEDULED": "A summary is being prepared in the background.",
    "HISTORY_NO_BACKGROUND": "A summary would be prepared ahead, and nothing could take the work.",
    "REQUEST_FIXED_NEAR_LIMIT": "System text, tools and schema alone passed the watermark.",
}

CODES: Final = MappingProxyType(
    {
        **{code: ("error", text) for code, text in _ERRORS.items()},
        **{code: ("diagnostic", text) for code, text in _DIAGNOSTICS.items()},
        **{code: ("warning", text) for code, text in _WARNINGS.items()},
    }
)
"""Code to its kind and its one-sentence meaning."""
