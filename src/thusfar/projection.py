"""Projections: the view of a transcript that a policy allows, with its receipt. Pure.

The caller's list is never changed and never copied message by message: the view holds the caller's
own objects. What is not in the view is not looked at, apart from the leading system run.

Source:
    docs/spec/projection.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final, TypeVar

import msgspec

from thusfar._advance import current_step, select_stepped
from thusfar._ledger import Cumulative
from thusfar._options import RecentHistoryOptions
from thusfar._plain import PlainWindow, choose_plain
from thusfar._recent import Caps, Selection, select_recent
from thusfar._window import (
    FIRST_LOOK,
    MOST_GUESSED,
    SLACK,
    TOKENS_A_MESSAGE,
    Meter,
    NeedOlder,
    Window,
)
from thusfar.budget import InputBudget, Limits, limits
from thusfar.capacity import ModelCapacity
from thusfar.dialects import Dialect, DialectMismatch, detect, dialect, ordered
from thusfar.dialects.base import as_sequence
from thusfar.errors import (
    Diagnostic,
    OptionsError,
    RequestCompositionError,
    RequestTooLargeError,
    TranscriptError,
)
from thusfar.receipt import (
    HistoryReceipt,
    Range,
    ReceiptWarning,
    Repair,
    UnitCounts,
    as_ranges,
    within,
    without,
)
from thusfar.repair import Repairs, defects, plan_repairs
from thusfar.tokens import Measure, TokenCount, measure_for

T = TypeVar("T")


class Projection(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A view of a transcript, and why it looks like that.

    Attributes:
        messages: The view: a new list of the caller's own objects, oldest first. With a summary
            or a repair it also holds messages made here; the receipt counts them.
        receipt: What was kept, left out, summarised or repaired.
    """

    messages: list[Any]
    receipt: HistoryReceipt
    _size: Callable[[], TokenCount]

    def measured(self) -> Projection:
        """Return the same view with the number of tokens on its receipt."""
        if self.receipt.tokens is not None:
            return self
        receipt = msgspec.structs.replace(self.receipt, tokens=self._size())
        return Projection(messages=self.messages, receipt=receipt, _size=self._size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Projection):
            return NotImplemented
        return (self.messages, self.receipt) == (other.messages, other.receipt)

    __hash__ = None  # type: ignore[assignment]  # it holds a list

    def __repr__(self) -> str:
        return f"Projection(messages={self.messages!r}, receipt={self.receipt!r})"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a projection is made for, besides the messages and the policy.

    Attributes:
        dialect: The wire format; `None`: detected.
        counter: How tokens are counted; `None`: by the model, else the pinned estimator.
        model: Name of the model, for its tokenizer and capacity.
        capacity: Overrides the capacity table.
        budget: The author's limits.
        system: System text outside the list, counted with the request.
        tools: Tool definitions, counted with the request.
    """

    dialect: str | Dialect | None = None
    counter: Any = None
    model: str | None = None
    capacity: ModelCapacity | None = None
    budget: InputBudget | None = None
    system: Any = None
    tools: Sequence[Any] | None = None

    @property
    def limited(self) -> bool:
        """Whether there is anything to hold a view to."""
        return not (self.model is None and self.capacity is None and self.budget is None)

    def measure(self) -> Measure:
        """The measuring function for caps, splits and fit."""
        return measure_for(self.counter, self.model, capacity=self.capacity)

    def limits(self, measure: Measure) -> Limits:
        """The effective limits; none where nothing was given."""
        return limits(self.budget, self.capacity, model=self.model, measure=measure)

    def fixed_tokens(self, measure: Measure) -> int:
        """Tokens of everything but the messages."""
        fixed = measure.base
        if self.system:
            fixed += measure.text(system_text(self.system))
        if self.tools:
            fixed += measure.tools(self.tools)
        return fixed


def system_text(system: Any) -> str:
    """Join the text of a system value: a string, or a list of blocks with text."""
    if isinstance(system, str):
        return system
    parts = system.get("parts", ()) if isinstance(system, dict) else system
    if not isinstance(parts, list | tuple):
        parts = (parts,)
    texts = [
        p if isinstance(p, str) else p.get("text", "") for p in parts if isinstance(p, str | dict)
    ]
    return "\n".join(text for text in texts if isinstance(text, str))


def in_dialect(messages: Sequence[Any], setting: Setting, run: Callable[[Dialect], T]) -> T:
    """Run a projection in the dialect of the messages it looks at.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when they fit no dialect, or not the given one.
    """
    if setting.dialect is not None:
        given = dialect(setting.dialect) if isinstance(setting.dialect, str) else setting.dialect
        try:
            return run(given)
        except DialectMismatch:
            raise TranscriptError(
                f"A message did not have the shape of the dialect {given.name}.",
                fix="Pass the dialect the messages are in, or leave dialect= out.",
                dialect=given.name,
            ) from None
    for candidate in ordered():
        try:
            return run(candidate)
        except DialectMismatch:
            continue
    return run(detect(messages))


def project_recent(messages: Any, options: RecentHistoryOptions, setting: Setting) -> Projection:
    """Project the newest exact causally safe suffix.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, when a defective message would be in the
            view under `repair="strict"`.
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when the view exceeds a given limit.
        TranscriptError: `INVALID_TRANSCRIPT`, when a message fits no dialect.
    """
    transcript = sequence_of(messages)

    def run(dialect: Dialect) -> Projection:
        measure = setting.measure() if options.tokens is not None or setting.limited else None
        plain = choose_plain(transcript, dialect, options, measure)
        if plain:
            return _project_plain(plain, transcript, options, setting, dialect, measure)
        choice = choose(transcript, dialect, options, measure)
        view = View(transcript, dialect, choice.repairs)
        receipt = recent_receipt(choice, view, options, dialect)
        made = view.messages(choice.ranges)

        def counted(measure: Measure) -> int:
            if options.tokens is None:
                return sum(measure.count(dialect, made))
            system = choice.window.system
            behind = without(choice.ranges, ((0, system),))
            known = sum(choice.meter.size(low, high) for low, high in behind)
            return known + sum(measure.count(dialect, transcript[:system]))

        return finish(made, receipt, setting, counted, measure)

    return in_dialect(transcript, setting, run)


def _project_plain(
    plain: PlainWindow,
    transcript: Sequence[Any],
    options: RecentHistoryOptions,
    setting: Setting,
    dialect: Dialect,
    measure: Measure | None,
) -> Projection:
    """Write the view of whole plain turns, as `choose` would have chosen it."""
    system, start, end = plain.system, plain.start, len(transcript)
    made = [*transcript[:system], *transcript[start:]]
    omitted = system < start
    kept = ((0, system), (start, end)) if system and omitted else ((start, end),)
    selection = Selection(start, used=plain.caps.used, units=plain.units)
    receipt = HistoryReceipt(
        policy="recent",
        options=options.to_json(),
        dialect=dialect.name,
        messages=end,
        system=system,
        kept=kept if omitted else as_ranges([(0, end)]),
        omitted=((system, start),) if omitted else (),
        units=UnitCounts(cut="turn", kept=plain.units, exchanges=plain.exchanges),
        warnings=window_warnings(selection, options, omitted=omitted, pending=0),
    )

    def counted(measure: Measure) -> int:
        if options.tokens is None:
            return sum(measure.count(dialect, made))
        return plain.caps.used_tokens + sum(measure.count(dialect, transcript[:system]))

    return finish(made, receipt, setting, counted, measure)


def sequence_of(messages: Any) -> Sequence[Any]:
    """Accept any iterable of messages; read one that is given only once into a list.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for text, a mapping, or something not iterable.
    """
    try:
        return as_sequence(messages)
    except TypeError:
        raise OptionsError(
            f"A projection got a {type(messages).__name__} instead of messages.",
            fix="Pass a list of messages.",
        ) from None


class Choice(msgspec.Struct):
    """A window that was chosen, with what it was chosen from."""

    window: Window
    selection: Selection
    repairs: Repairs
    pinned: tuple[Range, ...]
    meter: Meter

    @property
    def ranges(self) -> tuple[Range, ...]:
        """Positions of the view, ascending: system run, pins, opener, suffix."""
        window, chosen = self.window, self.selection
        return as_ranges(
            [(0, window.system), *self.pinned, chosen.opener, (chosen.start, window.end)]
        )


def choose(
    messages: Sequence[Any],
    dialect: Dialect,
    options: RecentHistoryOptions,
    measure: Measure | None,
    *,
    whole: bool = False,
) -> Choice:
    """Choose the window, looking back only as far as the answer depends on.

    Args:
        messages: The caller's list.
        dialect: Its wire format.
        options: The caps and how to cut.
        measure: Counts tokens; needed for a token cap.
        whole: Whether everything is grouped, as a summary needs it.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, as `project_recent`; with `whole` for
            a defect anywhere.
    """
    end = len(messages)
    look = end if whole or options.pinned else first_look(options)
    capped = measure if options.tokens is not None else None
    stepped = capped if options.advance else None  # counts the whole list, so no ledger is kept
    window = Window(messages, dialect, look=look, measure=None if stepped else capped)
    pinned = pinned_units(window, messages, options)
    free = frozenset(p for low, high in pinned for p in range(low, high))
    sums = Cumulative(stepped, dialect, messages, window.system) if stepped else None
    while True:
        repairs = plan_repairs(
            window.grouping, messages, dialect, options.repair, first=window.first
        )
        meter = Meter(
            sums or window.ledger,
            partial(capped.count, dialect) if capped else None,
            free=free,
            replaced=repairs.replaced,
        )
        try:
            if options.advance:
                step = current_step(window.system, end, options, sums.before if sums else ())
                selection = select_stepped(window, meter, options, step)
            else:
                selection = select_recent(window, meter, options)
            break
        except NeedOlder:
            window.extend(window.guess(options.tokens) if options.tokens else None)
    choice = Choice(window, selection, repairs, pinned, meter)
    if options.repair == "strict":
        refuse_defects(window, ((0, end),) if whole else choice.ranges)
    return choice


def first_look(options: RecentHistoryOptions) -> int:
    """Guess how many messages decide the window; looking further back is always possible."""
    guesses = [] if options.messages is None else [options.messages]
    if options.tokens is not None:
        guesses.append(min(max(options.tokens // TOKENS_A_MESSAGE, FIRST_LOOK), MOST_GUESSED))
    return min(guesses) + SLACK


def pinned_units(
    window: Window, messages: Sequence[Any], options: RecentHistoryOptions
) -> tuple[Range, ...]:
    """Find the units that hold a pinned message."""
    test = options.pinned
    if test is None:
        return ()
    pins = is_marked_pinned if test is True else test
    starts = window.turns if options.cut == "turn" else window.exchanges
    return as_ranges(
        [
            (low, high)
            for low, high in pairwise([*starts, window.end])
            if any(pins(messages[p]) for p in range(low, high))
        ]
    )


def is_marked_pinned(message: Any) -> bool:
    """Tell whether a message's `metadata["pinned"]` is true."""
    metadata = (
        message.get("metadata") if isinstance(message, dict) else getattr(message, "metadata", None)
    )
    return isinstance(metadata, dict) and metadata.get("pinned") is True


def refuse_defects(window: Window, ranges: Sequence[Range]) -> None:
    """Refuse a defective message in these ranges.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, with `INVALID_HISTORY_TRANSCRIPT` and the
            positions.
    """
    found = tuple(p for p in defects(window.grouping, window.first) if within(ranges, p))
    if not found:
        return
    raise RequestCompositionError(
        f"Calls and results did not pair at {len(found)} message(s) of the view, the first at "
        f"position {found[0]}.",
        fix='Correct the transcript, or pass repair="drop" or repair="close".',
        diagnostics=(
            Diagnostic(
                code="INVALID_HISTORY_TRANSCRIPT",
                message="A result had no call, or a call was never answered.",
                positions=found,
            ),
        ),
        positions=found,
    )


class View:
    """Builds the list of messages of a view from positions and repairs."""

    __slots__ = ("_messages", "dialect", "repairs")

    def __init__(self, messages: Sequence[Any], dialect: Dialect, repairs: Repairs) -> None:
        self._messages = messages
        self.dialect = dialect
        self.repairs = repairs

    def messages(self, ranges: Sequence[Range]) -> list[Any]:
        """The messages at these positions, as repaired, in order."""
        replaced = self.repairs.replaced
        view: list[Any] = []
        for start, end in ranges:
            if replaced:
                for position in range(start, end):
                    if position in replaced:
                        view += replaced[position]
                    else:
                        view.append(self._messages[position])
            else:
                view += self._messages[start:end]
        return view

    def absent(self, ranges: Sequence[Range]) -> tuple[Range, ...]:
        """Positions whose own message is not in the view because of a repair."""
        made, replaced = self.repairs.made, self.repairs.replaced
        return as_ranges(
            [
                (p, p + 1)
                for p, span in replaced.items()
                if len(span) == made.get(p, 0) and within(ranges, p)
            ]
        )

    def notes(self, ranges: Sequence[Range]) -> tuple[Repair, ...]:
        """The repairs made in these ranges, by position."""
        return tuple(
            note
            for position in sorted(self.repairs.notes)
            if within(ranges, position)
            for note in self.repairs.notes[position]
        )

    def added(self, ranges: Sequence[Range]) -> int:
        """How many messages of the view are not the caller's."""
        return sum(
            count for position, count in self.repairs.made.items() if within(ranges, position)
        )


def recent_receipt(
    choice: Choice, view: View, options: RecentHistoryOptions, dialect: Dialect
) -> HistoryReceipt:
    """Write the receipt of an exact recent suffix."""
    window, selection, ranges = choice.window, choice.selection, choice.ranges
    absent = view.absent(ranges)
    omitted = without(((window.system, window.end),), ranges)
    opener = as_ranges([selection.opener]) if selection.opener_outside else ()
    return HistoryReceipt(
        policy="recent",
        options=options.to_json(),
        dialect=dialect.name,
        messages=window.end,
        system=window.system,
        kept=without(ranges, absent),
        omitted=omitted,
        opener=opener,
        pinned=choice.pinned,
        units=unit_counts(choice),
        added=view.added(ranges),
        repairs=view.notes(ranges),
        warnings=window_warnings(
            selection,
            options,
            omitted=bool(omitted),
            pending=len(window.grouping.pending),
        ),
    )


def unit_counts(choice: Choice) -> UnitCounts:
    """Count the units of the exact suffix."""
    chosen = choice.selection
    exchanges = choice.window.exchanges_within(chosen.start, choice.window.end)
    return UnitCounts(cut=chosen.cut, kept=chosen.units, exchanges=len(exchanges))


def window_warnings(
    chosen: Selection, options: RecentHistoryOptions, *, omitted: bool, pending: int
) -> tuple[ReceiptWarning, ...]:
    """List what a reader of the receipt should know about the window.

    Args:
        chosen: The window.
        options: The policy.
        omitted: Whether the view leaves anything out.
        pending: How many calls wait at the end of the transcript.
    """
    caps = Caps(options.messages, options.tokens, *chosen.used)
    facts: dict[str, int | float | str] = {"messages": chosen.used[0]}
    if options.tokens is not None:
        facts["tokens"] = chosen.used[1]
    warnings: list[ReceiptWarning] = []
    if chosen.overflow:
        warnings.append(ReceiptWarning(code="HISTORY_CAP_OVERFLOW", facts=facts))
    if omitted and not caps.used_up():
        warnings.append(ReceiptWarning(code="HISTORY_CAUSAL_BOUNDARY", facts=facts))
    if chosen.opener_outside:
        size = chosen.opener[1] - chosen.opener[0]
        warnings.append(ReceiptWarning(code="HISTORY_OPENER_OUTSIDE_CAP", facts={"messages": size}))
    if pending:
        warnings.append(ReceiptWarning(code="HISTORY_OPEN_CALLS", facts={"calls": pending}))
    return tuple(warnings)


def finish(
    view: list[Any],
    receipt: HistoryReceipt,
    setting: Setting,
    counted: Callable[[Measure], int],
    measure: Measure | None = None,
) -> Projection:
    """Count the view where something asks for it, and hold it to the limit.

    Args:
        view: The messages of the view.
        receipt: What is known of it so far.
        setting: What it is made for.
        counted: Counts the messages of the view.
        measure: The setting's measure, where it was made before.

    Raises:
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when the whole request exceeds the limit.
    """

    def size() -> TokenCount:
        used = measure or setting.measure()
        total = counted(used) + setting.fixed_tokens(used)
        return TokenCount(tokens=total, tokenizer=used.tokenizer, confidence=used.confidence)

    if not setting.limited:
        if receipt.options.get("tokens") is not None:
            receipt = msgspec.structs.replace(receipt, tokens=size())
        return Projection(messages=view, receipt=receipt, _size=size)
    bounds = setting.limits(measure or setting.measure())
    tokens = size()
    receipt = msgspec.structs.replace(
        receipt,
        tokens=tokens,
        limit=bounds.max,
        warnings=(*receipt.warnings, *(ReceiptWarning(code=c) for c in bounds.warnings)),
    )
    if bounds.max is not None and tokens.tokens > bounds.max:
        raise too_large(tokens, bounds.max, receipt.policy)
    return Projection(messages=view, receipt=receipt, _size=size)


REMEDY: Final = {
    "exact": "Authorise a shorter view with history.recent() or history(), or raise the limit.",
    "recent": "Lower the caps of history.recent(), or raise the limit.",
    "managed": "Lower recent=, or raise the limit.",
}


def too_large(tokens: TokenCount, most: int, policy: str) -> RequestTooLargeError:
    """Make the error for a request that no authorised view fits."""
    found = [
        Diagnostic(
            code="REQUEST_INPUT_LIMIT",
            message=f"The request needed {tokens.tokens:,} input tokens of {most:,}.",
            facts={"input_tokens": tokens.tokens, "max_input_tokens": most},
        ),
        Diagnostic(
            code="HISTORY_EXACT_REMEDY" if policy == "exact" else "EXACT_REPRESENTATION_EXHAUSTED",
            message=REMEDY[policy],
        ),
    ]
    return RequestTooLargeError(
        f"The request needed {tokens.tokens:,} input tokens ({tokens.confidence}), "
        f"and the limit is {most:,}.",
        fix=REMEDY[policy],
        diagnostics=tuple(found),
        input_tokens=tokens.tokens,
        max_input_tokens=most,
        confidence=tokens.confidence,
    )
