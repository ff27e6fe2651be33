"""Forms: every way a managed history may be sent, with its size, before one is chosen.

A form is positions and counts; its list of messages is built for the chosen one alone. Positions
are those of the caller's list; those of artifacts count from behind the leading system run.

Source:
    docs/spec/planner.md#forms
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from thusfar._choice import Choice, choose
from thusfar._digest import digest_lines, fenced
from thusfar._history import HistoryOptions
from thusfar._options import RecentHistoryOptions
from thusfar._summarize import LEAST_LINE_CHARS, SummaryOptions
from thusfar._view import View
from thusfar.artifacts import Artifact, End, artifact_key, chain_over
from thusfar.messages import Message, Text
from thusfar.planner.facts import RequestFacts
from thusfar.planner.form import Form, Shorter
from thusfar.planner.pages import NeedMessages, Pages
from thusfar.planner.recall import recall_tool
from thusfar.planner.shortening import oldest_first, shorten_before
from thusfar.planner.sizes import Sizes
from thusfar.receipt import Range, ReceiptWarning, as_ranges, without
from thusfar.summaries.making import reread_from
from thusfar.summaries.rendering import fenced_summary
from thusfar.summaries.values import SummaryJob

READ_MORE: Final = 110  # per cent of what seems to be needed, so that one more read will do
SHORTEN_AT_MOST: Final = 8  # times the maximum: longer threads are not read whole to be shortened


class Forms:
    """The forms of one managed history.

    Args:
        facts: What the request is planned from.
        options: The policy's options.
        recent: The caps of the exact suffix, defaults filled in.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, for a defect anywhere under
            `repair="strict"`.
    """

    def __init__(
        self, facts: RequestFacts, options: HistoryOptions, recent: RecentHistoryOptions
    ) -> None:
        self.facts = facts
        self.options = options
        self.recent = recent
        self.messages: Sequence[Any] = facts.source.messages
        self.pages = self.messages if isinstance(self.messages, Pages) else None
        self.dialect = facts.dialect
        self.measure = facts.measure

    @cached_property
    def choice(self) -> Choice:
        """The window that the policy's caps choose."""
        whole, waits = not self.partial, self.facts.source.open_from
        seen = self.messages, self.dialect, self.recent, self.measure
        return choose(*seen, whole=whole, open_from=waits)

    @cached_property
    def view(self) -> View:
        """The messages as repaired."""
        return View(self.messages, self.dialect, self.choice.repairs)

    @cached_property
    def sizes(self) -> Sizes:
        """Tokens of the messages at hand, as repaired."""
        return Sizes(self.messages, self.first, self.choice.repairs.replaced, self.count)

    def count(self, messages: Sequence[Any]) -> list[int]:
        """Count messages of the history."""
        return self.measure.count(self.dialect, messages)

    @property
    def first(self) -> int:
        """Position from which on all messages are at hand; 0 for caller-owned ones."""
        return self.pages.first if self.pages is not None else 0

    @property
    def partial(self) -> bool:
        """Whether messages between the system run and the newest ones were not read."""
        return self.pages is not None and self.pages.first > self.pages.head_length

    @property
    def system(self) -> int:
        """Length of the leading system run."""
        return self.choice.window.system

    @property
    def cut(self) -> int:
        """Where the exact suffix of the policy starts: what a coming summary would end at."""
        return self.choice.selection.start

    @property
    def everything(self) -> tuple[Range, ...]:
        """All positions."""
        return ((0, len(self.messages)),) if len(self.messages) else ()

    @property
    def summary(self) -> SummaryOptions:
        """How summaries are made."""
        assert isinstance(self.options.summary, SummaryOptions)
        return self.options.summary

    def weigh(self, ranges: Sequence[Range]) -> int:
        """Add up the tokens of positions; what was not read counts nothing."""
        return sum(self.sizes.between(start, end) for start, end in ranges)

    def full(self) -> Form:
        """Everything, exactly.

        Raises:
            NeedMessages: while what was read does not exceed the maximum yet, and nobody has
                counted the rest before.
        """
        if self.pages is not None and self.pages.total is not None:
            return Form(self.pages.total, self.everything)
        tokens = self.weigh(self.everything)
        most = self.facts.limits.max
        if self.partial and (most is None or tokens <= most):
            raise NeedMessages(max(0, self.first - self._wanted(tokens, most)))
        return Form(tokens, self.everything)

    def _wanted(self, tokens: int, most: int | None) -> int:
        """How many more messages to read so that they exceed the maximum, or twice as many."""
        read = len(self.messages) - self.first
        if most is None or not tokens:
            return read + 1
        return (most - tokens + 1) * read * READ_MORE // (tokens * 100) + 1

    def shortened(self) -> list[Form]:
        """Everything, with the oldest tool results and media cut, and then more of them."""
        most = self.options.shorten
        if most is None or self.cut <= self.system:
            return []
        limit = self.facts.limits.max
        if self.partial and limit is not None and self.full().tokens > SHORTEN_AT_MOST * limit:
            return []
        saved: dict[int, int] = {}
        seen = self.messages, self.dialect, self.measure
        shorter = shorten_before(*seen, end=self.cut, most=most)
        for place in shorter.keys() - self.choice.repairs.replaced.keys():
            cost = sum(self.count(shorter[place]))
            saved[place] = self.sizes.between(place, place + 1) - cost
        whole = self.weigh(self.everything)
        return [
            Form(
                whole - sum(saved[place] for place in places),
                self.everything,
                shorter={place: shorter[place] for place in places},
            )
            for places in oldest_first(saved)
        ]

    def coverable(self) -> bool:
        """Whether there is anything that a summary could stand for."""
        absent = self.view.absent(self.everything)
        covered = without(without(((self.system, self.cut),), absent), self.choice.ranges)
        return self.cut > self.system and bool(covered)

    def exact_beside(self, end: int, kept_user: tuple[int, ...] = ()) -> tuple[Range, ...]:
        """Positions sent exactly beside a summary that ends at a position.

        The opener of the turn that it cuts stays when a newer turn begins, so that what follows
        the summary stays the prefix it was.
        """
        chosen = self.choice
        cut = chosen.window.opener_cut(end) if self.recent.cut == "auto" else (0, 0)
        users = [(self.system + p, self.system + p + 1) for p in kept_user]
        rest = [*chosen.pinned, chosen.selection.opener, cut, *users]
        return as_ranges([(0, self.system), *rest, (min(end, self.cut), len(self.messages))])

    def summarised(self, artifact: Artifact) -> Form | None:
        """A summary and what follows it; `None` where it would not be shorter."""
        end = self.system + artifact.messages
        if self.partial and end < self.first:
            if self._too_far(artifact):
                return None
            raise NeedMessages(end)
        strategy = self.summary.strategy
        text = fenced_summary(
            artifact.text,
            first=self.system,
            last=end - 1,
            strategy=f"{strategy.kind}-{strategy.version}",
        )
        return self._spoken(text, end, artifact=artifact, kept_user=artifact.kept_user)

    def _too_far(self, artifact: Artifact) -> bool:
        """Whether what follows a summary is too much to be sent exactly, as far as can be told."""
        most = self.facts.limits.max
        if most is None:
            return False
        assert self.pages is not None
        if self.pages.total is not None:
            # The summary knows the size of what it covers as it was quoted, not as it is sent.
            return (self.pages.total - artifact.source_tokens) * 2 > most * 3
        return self.weigh(((self.first, len(self.messages)),)) > most

    def _spoken(
        self,
        text: str,
        end: int,
        *,
        artifact: Artifact | None = None,
        kept_user: tuple[int, ...] = (),
        notes: tuple[ReceiptWarning, ...] = (),
        tools: tuple[Any, ...] = (),
    ) -> Form | None:
        spoken = self.dialect.lower(Message("assistant", (Text(text),)))
        size = sum(self.measure.count(self.dialect, list(spoken)))
        ranges = self.exact_beside(end, kept_user)
        covered = without(((self.system, end),), self.view.absent(self.everything))
        at_hand = self.first <= self.system
        if at_hand and size >= self.weigh(without(covered, ranges)):
            return None
        return Form(
            self.weigh(ranges) + size,
            ranges,
            covered=covered,
            spoken=spoken,
            spoken_tokens=size,
            artifact=artifact,
            notes=notes,
            tools=tools,
            split=end == self.cut,
        )

    def least_summary(self) -> int:
        """The least that the history can weigh with a summary up to the cut."""
        return self.weigh(self.exact_beside(self.cut))

    def digests(self, *, recall: bool = False) -> list[Form]:
        """The digest up to the cut, with lines as asked and then shorter ones.

        Args:
            recall: Whether the tool comes with it that returns the exact messages.
        """
        parameters = dict(self.summary.strategy.parameters)
        asked = chars = parameters.get("line_max_chars", LEAST_LINE_CHARS)
        exchanges = self.lifted_exchanges(self.cut)
        tools = (recall_tool(self.facts.tool_wire),) if recall else ()
        made: list[Form] = []
        while True:
            lines = digest_lines(exchanges, line_max_chars=chars)
            text = fenced(lines, first=self.system, last=self.cut - 1, strategy="digest-1")
            facts: dict[str, int | float | str] = {"line_max_chars": chars, "asked": asked}
            note = ReceiptWarning(code="HISTORY_DIGEST_SHORTENED", facts=facts)
            notes = (note,) if chars < asked else ()
            form = self._spoken(text, self.cut, notes=notes, tools=tools)
            if form is not None:
                made.append(form)
            if chars <= LEAST_LINE_CHARS:
                return made
            chars = max(LEAST_LINE_CHARS, chars // 2)

    def recent_only(self) -> Form:
        """The exact suffix alone."""
        ranges = self.choice.ranges
        left_out = sum(end - start for start, end in without(self.everything, ranges))
        note = ReceiptWarning(code="HISTORY_RECENT_ONLY", facts={"messages": left_out})
        return Form(self.weigh(ranges), ranges, notes=(note,), split=True)

    def lifted_exchanges(self, end: int) -> list[tuple[int, list[Message]]]:
        """Lift the exchanges before a position, as repaired."""
        starts = self.choice.window.exchanges_within(self.system, end)
        lifted = [
            (low, [self.dialect.lift(m) for m in self.view.messages(((low, high),))])
            for low, high in pairwise([*starts, end])
        ]
        return [(low, messages) for low, messages in lifted if messages]

    @cached_property
    def _chains(self) -> list[str]:
        lift = self.dialect.lift
        return chain_over(lift(self.messages[p]) for p in range(self.system, self.cut))

    def chain(self, position: int) -> str:
        """Chained digest of the messages up to and including a position before the cut."""
        if self.pages is not None:
            return self.pages.chain(position)
        return self._chains[position - self.system]

    def ends(self) -> tuple[End, ...]:
        """Places where a usable summary may end, the newest first."""
        if self.cut <= self.system:
            return ()
        oldest = max(self.system, self.first) + 1
        borders = [*self.choice.window.exchanges_within(oldest, self.cut), self.cut]
        return tuple((border - self.system, self.chain(border - 1)) for border in reversed(borders))

    def coming_key(self, identity: str) -> str:
        """Key of the summary up to the cut."""
        return artifact_key(identity, self.chain(self.cut - 1))

    def job(self, base: Artifact | None, *, fits: int | None = None) -> SummaryJob | None:
        """The summary up to the cut; `None` where no model could make it."""
        model = self.facts.summary
        if model is None or not model.callable or not self.coverable():
            return None
        chain = self.chain(self.cut - 1)
        begin = base.messages if base else 0
        anew = model.identity.native or model.identity.strategy == "regenerate"
        whole = anew or self.summary.keep_user is not None
        adapts = model.identity.strategy == "adaptive"
        start = 0 if whole else (reread_from(base) if adapts else begin)
        self._look_back(self.system + start)
        return SummaryJob(
            key=artifact_key(model.identity.digest, chain),
            identity=model.identity,
            chain=chain,
            messages=self.cut - self.system,
            turns=self._turns(begin),
            options=self.summary,
            measure=model.measure,
            base=base,
            room=model.room,
            kept_user=self.kept_user(),
            fits=fits,
        )

    def _look_back(self, position: int) -> None:
        """Make sure that everything from a position on is at hand and grouped."""
        if self.partial and position < self.first:
            raise NeedMessages(position)
        window = self.choice.window
        while window.first > position and not window.complete:
            window.extend()

    def _turns(self, begin: int) -> tuple[tuple[int, int], ...]:
        """Turn starts of the covered range with their tokens, counted from the system run."""
        oldest = max(0, min(begin, self.first - self.system)) if self.partial else 0
        starts = [at - self.system for at in self.choice.window.turns if at < self.cut]
        borders = sorted({oldest, begin, *(at for at in starts if at >= oldest)})
        spans = pairwise([*borders, self.cut - self.system])
        return tuple(
            (low, self.sizes.between(self.system + low, self.system + high)) for low, high in spans
        )

    def kept_user(self) -> tuple[int, ...]:
        """Covered user input that is sent exactly as well, within `keep_user`, ascending."""
        share = self.summary.keep_user
        if share is None:
            return ()
        covered = self.sizes.between(self.system, self.cut)
        left = int(share * covered) if isinstance(share, float) else share
        kept: list[int] = []
        window = self.choice.window
        for place in range(self.cut - 1, self.system - 1, -1):
            if window.facts(place).user_input and place not in self.choice.repairs.replaced:
                left -= self.sizes.between(place, place + 1)
                if left < 0:
                    break
                kept.append(place - self.system)
        return tuple(reversed(kept))

    def read(self, start: int, end: int) -> list[tuple[int, Message]]:
        """Read covered messages, canonical and as repaired, for a summary."""
        lift, view = self.dialect.lift, self.view
        return [
            (place, lift(message))
            for place in range(start, end)
            for message in view.messages(((self.system + place, self.system + place + 1),))
        ]

    def built(self, form: Form) -> list[Any]:
        """Build the list of messages of a form."""
        head = min(self.system, len(self.messages))
        before = self._shown(as_ranges([(0, head)]), form.shorter)
        behind = self._shown(without(form.ranges, ((0, head),)), form.shorter)
        return [*before, *form.spoken, *behind]

    def _shown(self, ranges: Sequence[Range], shorter: Shorter) -> list[Any]:
        if not shorter:
            return self.view.messages(ranges)
        shown: list[Any] = []
        for start, end in ranges:
            for place in range(start, end):
                shown += shorter.get(place) or self.view.messages(((place, place + 1),))
        return shown

    def regenerated(self, artifact: Artifact) -> int:
        """Tokens that the summary model reads when the range up to the cut is made anew."""
        end = self.system + artifact.messages
        return artifact.source_tokens + self.weigh(((end, max(end, self.cut)),))

    def stale_by(self, artifact: Artifact) -> int:
        """Messages between the end of a summary and the coming cut."""
        return max(0, self.cut - self.system - artifact.messages)
