"""Counters of the caller: any function or object that counts, checked at every answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from thusfar._numbers import MAX_SAFE_INTEGER, shown
from thusfar.errors import OptionsError
from thusfar.tokens.cache import CachedCounter, CountCache
from thusfar.tokens.confidence import CONFIDENCES, Confidence
from thusfar.tokens.counters import Counter


class MessageCounter(Protocol):
    """What counts the caller's own message objects, framing and media included."""

    def count_messages(self, messages: Sequence[Any]) -> list[int]:
        """Count each message, in order."""
        ...


class FunctionCounter:
    """A function of one text as a counter.

    Args:
        function: Gives the tokens of one text: a whole number, at least 0.
        name: Stable name.
        confidence: How far its numbers can be trusted.
    """

    __slots__ = ("_function", "confidence", "name")

    def __init__(
        self, function: Callable[[str], int], *, name: str, confidence: Confidence = "exact"
    ) -> None:
        self._function = function
        self.name: Final = name
        self.confidence: Final = confidence

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count each text, in order.

        Raises:
            OptionsError: `INVALID_OPTIONS`, when the function does not give a whole number.
        """
        function = self._function
        return checked(list(map(function, texts)), len(texts), self.name)


class BatchCounter:
    """An object with `count_many` of its own as a counter; its answers are checked.

    Args:
        counter: The caller's object.
        name: Stable name.
        confidence: How far its numbers can be trusted.
    """

    __slots__ = ("_counter", "confidence", "name")

    def __init__(self, counter: Any, *, name: str, confidence: Confidence) -> None:
        self._counter = counter
        self.name: Final = name
        self.confidence: Final = confidence

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count each text, in order.

        Raises:
            OptionsError: `INVALID_OPTIONS`, when the answer is not one whole number a text.
        """
        return checked(self._counter.count_many(texts), len(texts), self.name)


class PerMessage:
    """A function of one message as a counter of the caller's own message objects.

    Attributes:
        name: Stable name.
        confidence: How far its numbers can be trusted.
    """

    __slots__ = ("_function", "confidence", "name")

    def __init__(
        self, function: Callable[[Any], int], *, name: str, confidence: Confidence
    ) -> None:
        self._function = function
        self.name: Final = name
        self.confidence: Final = confidence

    def count_messages(self, messages: Sequence[Any]) -> list[int]:
        """Count each message, in order."""
        function = self._function
        return [function(message) for message in messages]


def per_message(
    function: Callable[[Any], int], *, name: str | None = None, confidence: Confidence = "exact"
) -> PerMessage:
    """Count whole messages instead of their texts.

    The function is given the caller's own message objects. Its number is taken as it is: no
    framing and no media estimate is added, and 0 is allowed.

    Args:
        function: Gives the tokens of one message: a whole number, at least 0. It must be pure.
        name: Stable name; by default `custom:` and the function's qualified name.
        confidence: How far its numbers can be trusted.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when the function is not callable or the confidence is
            no confidence.

    Example:
        >>> per_message(lambda message: message["tokens"], name="stored").name
        'stored'
    """
    if not callable(function):
        raise _no_counter()
    if confidence not in CONFIDENCES:
        raise OptionsError(
            "per_message() got a confidence that does not exist.",
            fix=f"Pass one of {', '.join(CONFIDENCES)}.",
            option="confidence",
        )
    return PerMessage(function, name=name or name_of(function), confidence=confidence)


_HAS_ANOTHER_COUNT: Final = (str, bytes, Sequence, Mapping, type)


def text_counter(counter: Any) -> Counter:
    """Read the caller's object as a counter of texts.

    An object with `count_many(texts)`, `count_tokens(text)` or `count(text)`, or a function of
    one text. Its `name` and `confidence` are used where it has them.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when it is none of these.
    """
    name, confidence = name_of(counter), confidence_of(counter)
    if callable(getattr(counter, "count_many", None)):
        return BatchCounter(counter, name=name, confidence=confidence)
    for method in ("count_tokens", "count"):
        function = getattr(counter, method, None)
        if callable(function) and not isinstance(counter, _HAS_ANOTHER_COUNT):
            return FunctionCounter(function, name=name, confidence=confidence)
    if callable(counter):
        return FunctionCounter(counter, name=name, confidence=confidence)
    raise _no_counter()


def counts_messages(counter: object) -> bool:
    """Tell whether the caller's object counts whole messages."""
    return callable(getattr(counter, "count_messages", None))


def counts_text(counter: object) -> bool:
    """Tell whether the caller's object can count texts, besides what else it can."""
    return callable(counter) or any(
        callable(getattr(counter, method, None))
        for method in ("count_many", "count_tokens", "count")
    )


_caches: WeakKeyDictionary[Any, CountCache] = WeakKeyDictionary()


def remembered(counter: Any) -> CachedCounter:
    """Give the caller's counter its cache: the same one each time the same object comes.

    Where an object cannot be remembered without keeping it alive, the cache is a new one.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when the object cannot count texts.
    """
    made = text_counter(counter)
    try:
        cache = _caches.get(counter)
        if cache is None:
            cache = _caches.setdefault(counter, CountCache())
    except TypeError:
        cache = CountCache()
    return CachedCounter(made, cache)


def checked(counts: Any, expected: int, name: str) -> list[int]:
    """Check what a counter of the caller answered.

    Raises:
        OptionsError: `INVALID_OPTIONS`, naming the counter and never a text.
    """
    if not isinstance(counts, Sequence) or isinstance(counts, str | bytes):
        raise OptionsError(
            f"The counter {name} did not answer with a list of numbers.",
            fix="Return one whole number for each text or message.",
            counter=name,
        )
    if len(counts) != expected:
        raise OptionsError(
            f"The counter {name} answered with {len(counts)} numbers for {expected}.",
            fix="Return one whole number for each text or message.",
            counter=name,
        )
    whole = set(map(type, counts)) == {int}
    if whole and min(counts) >= 0 and max(counts) <= MAX_SAFE_INTEGER:
        return list(counts)
    for count in counts:
        if type(count) is not int or not 0 <= count <= MAX_SAFE_INTEGER:
            raise OptionsError(
                f"The counter {name} answered with {shown(count)}.",
                fix="Return a whole number, at least 0.",
                counter=name,
            )
    return list(counts)


def name_of(counter: Any) -> str:
    """Name a counter of the caller: its own `name`, or `custom:` and its qualified name."""
    name = getattr(counter, "name", None)
    if isinstance(name, str) and name:
        return name
    owner = counter if hasattr(counter, "__qualname__") else type(counter)
    return f"custom:{owner.__qualname__}"


def confidence_of(counter: Any) -> Confidence:
    """Read the confidence of a counter of the caller; without one it is taken at its word."""
    confidence = getattr(counter, "confidence", "exact")
    return confidence if confidence in CONFIDENCES else "exact"


def _no_counter() -> OptionsError:
    return OptionsError(
        "A counter was given that cannot count.",
        fix="Pass a function of one text, an object with count_many, or a name such as estimate.",
        option="counter",
    )
