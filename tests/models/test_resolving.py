"""Models by their names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from thusfar.errors import OptionsError
from thusfar.models import Scripted, resolve_model


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("openai:gpt-5", "OpenAIResponses('gpt-5')"),
        ("openai-responses:gpt-5", "OpenAIResponses('gpt-5')"),
        ("openai-chat:gpt-5", "OpenAIChat('gpt-5')"),
        ("anthropic:claude-sonnet-5", "Anthropic('claude-sonnet-5')"),
        ("gemini:gemini-3-pro", "Gemini('gemini-3-pro')"),
        ("google:gemini-3-pro", "Gemini('gemini-3-pro')"),
        ("litellm:mistral/large:latest", "LiteLLM('mistral/large:latest')"),
        ("local", "Local('smollm2-135m')"),
        ("local:/models/other.gguf", "Local('/models/other.gguf')"),
    ],
)
def test_a_name_finds_its_adapter(name: str, shown: str) -> None:
    assert repr(resolve_model(name)) == shown


def test_a_name_gives_one_model_until_the_environment_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = resolve_model("openai:gpt-5")
    monkeypatch.setenv("UNRELATED", "1")
    same = resolve_model("openai:gpt-5")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    other = resolve_model("openai:gpt-5")

    assert same is first
    assert other is not first


@pytest.mark.parametrize("name", ["gpt-5", "mystery:gpt-5", "openai:", "openai", ""])
def test_another_name_is_refused_with_the_names_that_there_are(name: str) -> None:
    with pytest.raises(OptionsError, match="openai-chat, anthropic, gemini"):
        resolve_model(name)


def test_an_object_that_fulfils_the_port_comes_back() -> None:
    model = Scripted("Hi.")
    assert resolve_model(model) is model


@pytest.mark.parametrize("value", [None, 5, object(), Scripted, lambda **_: "text"])
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(OptionsError):
        resolve_model(value)


def test_no_sdk_is_imported_before_a_call() -> None:
    code = (
        "import sys, thusfar.models as m\n"
        "from thusfar.models.resolving import ADAPTERS\n"
        "[m.resolve_model(name + ':x') for name in ADAPTERS]\n"
        "print(sorted({n.split('.')[0] for n in sys.modules}"
        " & {'openai', 'anthropic', 'google', 'litellm', 'xllamacpp', 'httpx', 'httpx2'}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
