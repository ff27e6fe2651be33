"""Plan options: which request a command line asks for, and what it may leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from cyclopts import Parameter

from thusfar._history import HistoryPolicy, OnMiss, history
from thusfar._summarize import StrategyKind, SummaryOptions, summarize
from thusfar.budget import InputBudget, limits
from thusfar.cli.options import Whole
from thusfar.cli.reading import read_text
from thusfar.cli.view_options import CAPS, BoundOptions, beside_summary, refuse_bounds
from thusfar.errors import OptionsError
from thusfar.models.scripted import Scripted
from thusfar.tokens import measure_for

PlanPolicy = Literal["exact", "recent", "managed", "digest"]
WRITTEN: Final = "summary-text"
"""What a summary from `--summary-text` is known by on receipts: no model made it here."""

_OF_MANAGED: Final = ("strategy", "on_miss", "shorten", "summary_model", "summary_text")


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Which request is asked for.

    Attributes:
        policy: exact: everything, or a refusal. recent: the newest messages that fit the caps.
            managed: everything while it fits, else a summary and the newest messages. digest:
            managed with --strategy digest. By default managed where an option of it is given,
            recent where a cap is, else exact.
        strategy: How a summary is made. digest writes a line for each exchange and needs no
            model; the others need one.
        on_miss: What happens under managed when everything does not fit and no summary is ready.
            inline (the default): one is made. recent-only: the older part is left out. fail: the
            request is refused.
        shorten: Under managed, old tool results above this many tokens may be cut to a head and a
            tail before anything is summarised.
        summary_model: Model that makes a missing summary under managed, such as openai:gpt-5-mini;
            local runs a small one here, with no key and no network. It is called where everything
            does not fit.
        summary_text: File of a summary of the older messages that is written already; it is
            used under managed in place of a model.
        optimize_at: From this many input tokens on, cheaper forms that the policy allows are used
            where they are ready. By default 80 % of the maximum.
        bounds: What bounds the history, and what the request is for.
    """

    policy: PlanPolicy | None = None
    strategy: StrategyKind | None = None
    on_miss: OnMiss | None = None
    shorten: Whole = None
    summary_model: str | None = None
    summary_text: str | None = None
    optimize_at: Whole = None
    bounds: BoundOptions = field(default_factory=BoundOptions)

    def budget(self) -> InputBudget | None:
        """The budget that `--max` and `--optimize-at` ask for; `None` without both.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a number outside its range.
        """
        if self.bounds.max is None and self.optimize_at is None:
            return None
        return InputBudget(max=self.bounds.max, optimize_at=self.optimize_at)

    def policy_for(
        self, messages: Sequence[Any], *, model: str, output_limit: int | None
    ) -> HistoryPolicy:
        """Make the policy that the options ask for.

        Args:
            messages: The transcript, whose positions `--pinned` names.
            model: Name of the model the request is for.
            output_limit: Output limit of the request. Unit: tokens. `None`: as for the model.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a value outside its range, and for options that
                the policy has no use for.
            TranscriptError: `INVALID_TRANSCRIPT`, when the summary's file cannot be read.
        """
        given = self.bounds.suffix(messages)
        named = self._policy(given)
        if named in ("managed", "digest"):
            summary = self._summary(named, model)
            return history(
                recent=beside_summary(given, self._most(model, output_limit), summary),
                summary=summary,
                on_miss=self.on_miss or "inline",
                shorten=self.shorten,
            )
        if wrong := [f"--{name.replace('_', '-')}" for name in self._of_managed()]:
            raise OptionsError(
                f"--policy {named} makes no summary and got {', '.join(wrong)}.",
                fix="Leave these out, or pass --policy managed.",
            )
        if named == "recent":
            return history.recent(**given)
        refuse_bounds(given)
        return history.exact()

    def _policy(self, given: dict[str, Any]) -> PlanPolicy:
        """Settle the policy: an option that asks for a loss names the policy that allows it."""
        if self.policy is not None:
            return self.policy
        if self._of_managed():
            return "managed"
        return "exact" if given.keys().isdisjoint(CAPS) else "recent"

    def _of_managed(self) -> list[str]:
        return [name for name in _OF_MANAGED if getattr(self, name) is not None]

    def _summary(self, named: PlanPolicy, model: str) -> SummaryOptions:
        """Say how the summary is made.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for two ways to make it.
        """
        strategy = self.strategy
        if named == "digest":
            made = (self.summary_text, self.summary_model)
            if made != (None, None) or strategy not in (None, "digest"):
                raise OptionsError(
                    "--policy digest writes a digest and got another way to make a summary.",
                    fix="Pass --policy managed.",
                )
            strategy = "digest"
        if self.summary_text is None:
            return SummaryOptions(
                model=self._summary_model(strategy),
                strategy=getattr(summarize, strategy or "adaptive")(),
            )
        if self.summary_model is not None:
            raise OptionsError(
                "A summary that is written already and a model to make it were given.",
                fix="Leave --summary-text or --summary-model out.",
                option="summary_model",
            )
        if strategy not in (None, "regenerate"):
            raise OptionsError(
                f"--summary-text is one text for the whole older part and got --strategy "
                f"{strategy}.",
                fix="Leave --strategy out.",
            )
        text = read_text(self.summary_text)
        return SummaryOptions(
            model=Scripted([text], name=WRITTEN),
            strategy=summarize.regenerate(),
            max_tokens=measure_for(self.bounds.counter, model).text(text) or 1,
            attempts=1,
        )

    def _summary_model(self, strategy: str | None) -> Any:
        """Find the model of `--summary-model`; `None` without it.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a name that no adapter has, and beside a digest.
            MissingExtraError: `MISSING_EXTRA`, when its SDK is not installed.
        """
        if self.summary_model is None:
            return None
        if strategy == "digest":
            raise OptionsError(
                "--strategy digest needs no model and got --summary-model.",
                fix="Leave --summary-model out, or pass another --strategy.",
                option="summary_model",
            )
        from thusfar.models.resolving import resolve_model

        return resolve_model(self.summary_model)

    def _most(self, model: str, output_limit: int | None) -> int:
        """Compute the effective maximum of the request."""
        measure = measure_for(self.bounds.counter, model)
        most = limits(self.budget(), model=model, measure=measure, output_reserve=output_limit).max
        return most or 1
