"""The local model: a small real one in this process, without a key and without a network.

SmolLM2 has 135 million parameters: it shows that a pipeline works. It makes things up, and what it
says is good for nothing else.

Source:
    docs/spec/models.md#local; https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct (read
    2026-11-30): a window of 8,192 tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from thusfar._numbers import require_whole
from thusfar.capacity import ModelCapacity
from thusfar.errors import ProviderError
from thusfar.models.calling import Decoder
from thusfar.models.errors import failure_of_status
from thusfar.models.local_engine import AsyncChunks, Chunks, EngineRefusal, engine_of
from thusfar.models.openai_chat import too_long
from thusfar.models.openai_chat_reading import ChatDecoder
from thusfar.models.port import ModelReply
from thusfar.models.sdk import SdkModel
from thusfar.models.threads import in_thread

NAME: Final = "smollm2-135m"
WINDOW: Final = 8192
REPEAT_PENALTY: Final = 1.2  # without one, texts of so small a model end in a loop at temperature 0


class Local(SdkModel):
    """A small model that runs in this process.

    Answers repeat: its temperature is 0 where neither the request nor the settings say otherwise,
    with a repeat penalty of 1.2 for texts.
    Requests wait for each other. A schema is kept by a grammar.

    Args:
        name: `smollm2-135m`, or the path of another model's `.gguf` file.
        window: Its context window. Unit: tokens. From 4.
        threads: How many threads compute. From 1.
        settings: More arguments of each call, such as `temperature`; the request's win.

    Example:
        >>> Local()
        Local('smollm2-135m')
    """

    provider: ClassVar[str] = "local"
    dialect: str = "openai-chat"
    extra: ClassVar[str] = "local"

    def __init__(
        self,
        name: str = NAME,
        *,
        window: int = WINDOW,
        threads: int = 1,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        require_whole("Local", "window", window or 0, least=4)
        require_whole("Local", "threads", threads or 0)
        capacity = ModelCapacity(
            context_window=window, output_reserve=min(512, window // 4), name=name, source="local"
        )
        super().__init__(name, capacity=capacity, settings=settings, max_retries=0)
        self.window = window
        self.threads = threads

    def make_client(self, *, asynchronous: bool) -> Any:
        """Load the model, or find it loaded."""
        del asynchronous
        path = self.name if self.name.endswith(".gguf") else ""
        return engine_of(path, self.window, self.threads)

    def close_client(self, client: Any) -> None:
        """Do nothing: the model is freed when nobody holds it any more."""

    async def aclose_client(self, client: Any) -> None:
        """Do nothing: the model is freed when nobody holds it any more."""

    def completed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Add the settings, and how much it may say."""
        made = super().completed(arguments)
        made.setdefault("temperature", 0.0)
        if "response_format" not in made:
            made.setdefault("repeat_penalty", REPEAT_PENALTY)
        if made.get("max_tokens") is None and made.get("max_completion_tokens") is None:
            made["max_tokens"] = self.capacity.output_reserve if self.capacity else None
        return made

    def send(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Begin to answer, or answer wholly."""
        chunks: Chunks = client.chunks(arguments)
        return chunks if stream else list(chunks)

    async def asend(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Begin to answer; a whole answer is computed in a thread."""
        chunks: Chunks = client.chunks(arguments)
        if stream:
            return AsyncChunks(chunks)
        try:
            return await in_thread(lambda: list(chunks))
        except BaseException:
            chunks.close()
            raise

    def reply(self, answered: Any) -> ModelReply:
        """Put the chunks of a whole answer together."""
        reading = self.decoder(answered)
        for chunk in answered:
            reading.feed(chunk)
        return reading.reply()

    def decoder(self, opened: Any) -> Decoder:
        """Make the reader of one streamed answer."""
        return LocalDecoder(opened, self.name)

    def failure(self, error: Exception) -> ProviderError | None:
        """Read what the engine refused."""
        if not isinstance(error, EngineRefusal):
            return None
        code = error.told.get("code")
        status = code if type(code) is int and code >= 400 else 500
        return failure_of_status(status, too_long=too_long(error.told))


class LocalDecoder(ChatDecoder):
    """Reads the chunks of one answer; the engine names the model by the path of its file."""

    def __init__(self, opened: Any, name: str) -> None:
        super().__init__(opened)
        self._name = name

    def reply(self) -> ModelReply:
        """Put the answer together; see `Decoder`."""
        return msgspec.structs.replace(super().reply(), model=self._name)
