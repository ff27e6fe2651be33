"""The peers: langchain-core, langchain and pydantic-ai-harness, where they are installed.

Each gets the same messages in its own classes. The ones that summarise get the marks at which
`history()` acts by default, and a model that writes summaries of the same length.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

from cache_contestants import Contestant, Sent, Sizes, Step, written_summary
from prefix_cache import Scale
from recorded import Messages


def peers(sizes: Sizes) -> Iterator[Contestant]:
    """List the peers, those that are not installed by name only."""
    count, cap = sizes.messages, sizes.caps[0]
    for most in (count, cap):
        by = "len" if most == count else "tokens"
        name = f"trim_messages({most} by {by})"
        yield _peer("langchain_core", name, trimmed(most, by_tokens=most == cap))
    for most in sizes.maxima:
        trigger, keep = sizes.pressed(most)
        name = f"SummarizationMiddleware({trigger}, keep {keep})"
        yield _peer("langchain", name, summarised(trigger, keep))
    for most in sizes.maxima:
        trigger, keep = sizes.pressed(most)
        for kind in ("SlidingWindow", "Summarizing"):
            name = f"{kind}Compaction({trigger}, keep {keep})"
            yield _peer("pydantic_ai_harness", name, compacted(kind, trigger, keep, sizes))


def _peer(package: str, name: str, begin: Callable[[Scale], Step]) -> Contestant:
    missing = "" if find_spec(package) else package.replace("_", "-")
    return Contestant(name, begin, missing=missing)


class Converted:
    """The transcript in LangChain's classes, grown as it grows; ids are positions."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def grown(self, said: Messages) -> list[Any]:
        """Convert what is new and give it."""
        from langchain_core.messages import convert_to_messages

        first = len(self.messages)
        new = convert_to_messages(said[first:])
        for place, message in enumerate(new, first):
            message.id = str(place)
        self.messages += new
        return new


def _originals(said: Messages, messages: list[Any]) -> list[Any]:
    """Give the transcript's own messages, and what was made as a message."""
    return [
        said[int(message.id)]
        if message.id and message.id.isdecimal()
        else {"role": "user", "content": message.text}
        for message in messages
    ]


def _counter(said: Messages, scale: Scale) -> Callable[[Any], int]:
    def count(messages: Any) -> int:
        return sum(scale.weigh(each) for each in _originals(said, list(messages)))

    return count


def trimmed(most: int, *, by_tokens: bool) -> Callable[[Scale], Step]:
    """Trim with langchain-core to the newest that fit; the view starts with a step or a question.

    Its documentation starts it with a question, which leaves nothing of a long tool loop.
    """

    def begin(scale: Scale) -> Step:
        from langchain_core.messages import trim_messages

        converted = Converted()

        def step(said: Messages, _: Messages) -> Sent:
            converted.grown(said)
            view = trim_messages(
                converted.messages,
                max_tokens=most,
                token_counter=_counter(said, scale) if by_tokens else len,
                strategy="last",
                include_system=True,
                start_on=("human", "ai"),
            )
            return Sent(_originals(said, view))

        return step

    return begin


def summarised(trigger: int, keep: int) -> Callable[[Scale], Step]:
    """Let LangChain's middleware rewrite the state of an agent before each call."""

    def begin(scale: Scale) -> Step:
        from langchain.agents.middleware import SummarizationMiddleware

        asked: list[str] = []
        converted, state = Converted(), []
        said_so_far: Messages = []
        count = _counter(said_so_far, scale)
        middleware = SummarizationMiddleware(
            model=_langchain_model(asked),
            trigger=("tokens", trigger),
            keep=("tokens", keep),
            token_counter=count,
        )
        paid = 0

        def step(said: Messages, _: Messages) -> Sent:
            nonlocal paid, state
            said_so_far[:] = said
            state = [*state, *(m for m in converted.grown(said) if m.type != "system")]
            update = middleware.before_model({"messages": state}, None)
            if update is not None:
                state = update["messages"][1:]  # behind the instruction to remove all
            support = sum(map(scale.text, asked[paid:]))
            paid = len(asked)
            system = [message for message in said[:1] if message["role"] == "system"]
            return Sent([*system, *_originals(said, state)], support)

        return step

    return begin


def _langchain_model(asked: list[str]) -> Any:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Summariser(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            asked.append("\n".join(message.text for message in messages))
            answer = AIMessage(written_summary(len(asked)))
            return ChatResult(generations=[ChatGeneration(message=answer)])

    return Summariser()


class Requests:
    """The transcript in pydantic-ai's classes, grown as it grows; parts know their message."""

    def __init__(self) -> None:
        self.origin: dict[int, dict[str, Any]] = {}
        self._names: dict[str, str] = {}
        self._kept: list[Any] = []  # so that no part's id is given again
        self._seen = 0

    def grown(self, said: Messages) -> list[Any]:
        """Convert what is new and give it: one request for all between two answers."""
        from pydantic_ai.messages import ModelRequest, ModelResponse

        made: list[Any] = []
        for message in said[self._seen :]:
            parts = list(self._parts(message))
            self.origin |= {id(part): message for part in parts}
            self._kept += parts
            if message["role"] == "assistant":
                made.append(ModelResponse(parts=parts))
            elif made and isinstance(made[-1], ModelRequest):
                made[-1].parts.extend(parts)
            else:
                made.append(ModelRequest(parts=parts))
        self._seen = len(said)
        return made

    def _parts(self, message: dict[str, Any]) -> Iterator[Any]:
        from pydantic_ai import messages as wire

        content = message["content"]
        match message["role"]:
            case "assistant":
                if content:
                    yield wire.TextPart(content)
                for call in message.get("tool_calls", ()):
                    function = call["function"]
                    self._names[call["id"]] = function["name"]
                    yield wire.ToolCallPart(function["name"], function["arguments"], call["id"])
            case "tool":
                call_id = message["tool_call_id"]
                yield wire.ToolReturnPart(self._names[call_id], content, call_id)
            case "system":
                yield wire.SystemPromptPart(content)
            case _:
                yield wire.UserPromptPart(content)

    def sent(self, messages: list[Any]) -> list[Any]:
        """Give the transcript's own messages, and what was made as a message."""
        view: list[Any] = []
        for part in (part for message in messages for part in message.parts):
            original = self.origin.get(id(part))
            if original is None:
                view.append({"role": "user", "content": str(part.content)})
            elif not view or view[-1] is not original:
                view.append(original)
        return view


def compacted(kind: str, trigger: int, keep: int, sizes: Sizes) -> Callable[[Scale], Step]:
    """Let a capability of pydantic-ai-harness rewrite the history before each request."""

    def begin(scale: Scale) -> Step:
        from pydantic_ai_harness import compaction

        asked: list[str] = []
        model = _pydantic_model(asked)
        strategy = getattr(compaction, f"{kind}Compaction")(
            max_tokens=trigger, keep_tokens=keep, tokenizer=sizes.counter
        )
        requests, state = Requests(), []
        paid = 0

        def step(said: Messages, _: Messages) -> Sent:
            nonlocal paid, state
            state = [*state, *requests.grown(said)]
            state = asyncio.run(_before(strategy, model, state))
            support = sum(map(scale.text, asked[paid:]))
            paid = len(asked)
            return Sent(requests.sent(state), support)

        return step

    return begin


async def _before(strategy: Any, model: Any, messages: list[Any]) -> list[Any]:
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
    from pydantic_ai.tools import RunContext
    from pydantic_ai.usage import RunUsage

    context = RunContext(deps=None, model=model, usage=RunUsage(), messages=list(messages))
    request = ModelRequestContext(
        model=model,
        messages=list(messages),
        model_settings=None,
        model_request_parameters=ModelRequestParameters(),
    )
    return list((await strategy.before_model_request(context, request)).messages)


def _pydantic_model(asked: list[str]) -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: Any, info: Any) -> Any:
        texts = [str(part.content) for message in messages for part in message.parts]
        asked.append("\n".join([*texts, str(getattr(info, "instructions", "") or "")]))
        return ModelResponse(parts=[TextPart(written_summary(len(asked)))])

    return FunctionModel(answer)
