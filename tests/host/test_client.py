"""The client: what it needs for what, what a binding may be, and how models are switched."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ConfigError, ModelError
from sutler.host import Client

RAISES = {
    "LLM": {
        "generate_text": ("p",),
        "generate": ("p",),
        "generate_from_messages": ([],),
        "generate_with_tools": ("p", []),
        "generate_structured_content": ("p", {}),
        "generate_code": ("p",),
        "generate_codes": ("p",),
        "update_code": ("x = 1", "y"),
        "embed": ("t",),
        "tokenize": ("t",),
        "detokenize": ([],),
        "count_tokens": ("t",),
        "count_image_tokens": ("i",),
        "long_context_processing": ("t", "p"),
        "generate_with_tag": ("p", "t"),
        "generate_with_tags": ("p",),
        "yes_no": ("q",),
        "multichoice_question": ("q", ["a"]),
        "multichoice_ranking": ("q", ["a"]),
        "extract_code_blocks": ("t",),
        "extract_thinking_blocks": ("t",),
        "remove_thinking_blocks": ("t",),
    },
    "TTI": {"generate_image": ("p",), "edit_image": (b"", "p"), "generate_omni": ("p",)},
    "TTS": {"generate_audio": ("t",), "generate_speech": ("t",)},
    "STT": {"transcribe_audio": (b"",)},
    "TTV": {"generate_video": ("p",)},
    "TTM": {
        "generate_music": ("p",),
        "generate_song": ("p",),
        "generate_song_from_lyrics": ("p", "l"),
        "edit_music": (b"", "p"),
    },
    "RAG": {
        "query_rag": ("q",),
        "add_text_to_rag": ("t",),
        "add_document_to_rag": ("f",),
        "query_sparql": ("q",),
    },
    "connection": {"send_connection_message": ("t",)},
}
CASES = [(label, method, args) for label, methods in RAISES.items() for method, args in methods.items()]
FIELDS = ("llm", "tti", "tts", "stt", "ttv", "ttm", "rag", "connection")
SWITCHES = ("model", "tti", "tts", "stt", "ttv", "ttm", "rag", "connection", "tools")


@pytest.mark.requirement("LCP-12")
@pytest.mark.parametrize(("label", "method", "args"), CASES, ids=[method for _, method, _ in CASES])
def test_without_its_binding_a_method_raises_and_names_the_modality(label: str, method: str, args: Any) -> None:
    client = Client()
    with pytest.raises(RuntimeError, match=rf"^{label} ?.* binding not initialized.*{method}"):
        getattr(client, method)(*args)


@pytest.mark.requirement("LCP-12")
def test_without_bindings_the_questions_have_neutral_answers() -> None:
    client = Client()
    assert [getattr(client, field) for field in FIELDS] == [None] * len(FIELDS)
    assert client.tools is None
    assert client.list_models() == client.list_connection_channels() == []
    assert client.get_rag_info() == {"error": "RAG binding not initialized."}
    assert client.get_ctx_size() == 4096
    assert client.has_vision_capability() is False
    assert client.find_available_vlm() is None
    assert client.cancel() is None
    assert not (client.ensure_tti() or client.ensure_tts() or client.ensure_ttv() or client.ensure_ttm())
    assert Client(ttm=lambda prompt: b"x").ensure_ttm()
    assert [getattr(client, f"switch_{name}")("none") for name in SWITCHES] == [False] * len(SWITCHES)


class Store:
    """A RAG binding as an object."""

    def __init__(self) -> None:
        self.held: list[tuple[str, Any]] = []

    def query(self, query_text: str, top_k: int = 5) -> list[dict[str, Any]]:
        return [{"text": text} for text, _ in self.held if query_text in text][:top_k]

    def add_text(self, text: str, unique_id: str | None = None) -> bool:
        self.held.append((text, unique_id))
        return True


@pytest.mark.requirement("LCP-12")
def test_a_binding_is_an_object_or_a_callable_sync_or_async() -> None:
    async def later(prompt: str, **_: Any) -> str:
        await asyncio.sleep(0)
        return f"later: {prompt}"

    with Client(llm=later, ttm=lambda prompt: b"la la", ttv=lambda prompt: "film.mp4", rag=Store()) as client:
        assert client.generate_text("x", n_predict=3) == "later: x"
        assert client.generate_music(prompt="a song") == b"la la"
        assert client.generate_video("a film") == Path("film.mp4")
        assert client.add_text_to_rag("the sea is wide", unique_id="1")
        assert client.query_rag("sea") == [{"text": "the sea is wide"}]


def test_messages_reach_a_plain_callable_as_one_prompt() -> None:
    seen: dict[str, Any] = {}

    def llm(prompt: str, system_prompt: str = "") -> str:
        seen.update(prompt=prompt, system_prompt=system_prompt)
        return "ok"

    client = Client(llm=llm)
    client.generate_from_messages([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}])
    assert seen == {"prompt": "u", "system_prompt": "s"}
    client.generate_from_messages([{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}])
    assert seen["prompt"] == "user: u\n\nassistant: a\n\nassistant:"


@pytest.mark.parametrize(
    ("bindings", "method", "args", "says"),
    [
        ({"tti": lambda prompt: b"x"}, "generate_image", ("p", "", 64, 64), "takes no such call.*width"),
        ({"tti": lambda prompt: None}, "generate_image", ("p",), "gave nothing, where bytes"),
        ({"tti": lambda prompt: "/no/such/file"}, "generate_image", ("p",), "gave the path of a file"),
        ({"tti": lambda prompt: b"x"}, "edit_image", (b"i", "p"), "has no edit_image"),
        ({"llm": lambda prompt: 3}, "generate_text", ("p",), "gave a int, not a text"),
        ({"llm": lambda prompt: {"status": False, "error": "no memory"}}, "generate_text", ("p",), "failed: no memory"),
        ({"llm": lambda prompt: "x"}, "generate_with_tools", ("p", []), "has no chat, which generate_with_tools needs"),
        ({"llm": lambda prompt: "x"}, "embed", ("t",), "has no embed"),
        ({"llm": lambda prompt: "x"}, "count_image_tokens", ("i",), "has no count_image_tokens"),
        ({"stt": lambda audio: b""}, "transcribe_audio", (b"",), "gave a bytes, not a text"),
        ({"rag": Store()}, "query_sparql", ("q",), "has no query_sparql"),
        ({"rag": Store()}, "query_rag", ("q", 1, "other"), "no RAG binding goes by 'other'; there are: none"),
    ],
)
def test_what_a_binding_cannot_do_is_said(bindings: Any, method: str, args: Any, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        getattr(Client(**bindings), method)(*args)


def test_what_a_binding_raises_itself_comes_through() -> None:
    def llm(prompt: str) -> str:
        raise KeyError(prompt)

    with pytest.raises(KeyError, match="p"):
        Client(llm=llm).generate_text("p")


@pytest.mark.requirement("LCP-12")
def test_models_are_switched_by_alias_and_an_unknown_one_changes_nothing() -> None:
    client = Client(
        llm={"big": lambda prompt: "big", "fast": lambda prompt: "fast"},
        tti=lambda prompt: b"i",
        ttm={"flute": lambda prompt: b"f", "harp": lambda prompt: b"h"},
    )
    assert client.generate_text("x") == "big"
    assert client.switch_model("fast") is True
    assert client.generate_text("x") == "fast"
    assert client.switch_model("none") is False
    assert client.switch_tti("fast") is False
    assert client.generate_text("x") == "fast"
    assert (client.switch_ttm("harp"), client.generate_music("x")) == (True, b"h")


def test_a_tools_binding_is_switched_as_well() -> None:
    one, other = object(), object()
    client = Client(tools={"one": one, "other": other})
    assert client.tools is one
    assert (client.switch_tools("other"), client.mount_tools("third")) == (True, False)
    assert client.tools is other


def test_a_binding_that_counts_is_asked_and_else_the_text_is_cut_and_joined_again() -> None:
    text = "Grüße, Welt! 12345 naïve 東京 <tag/>\n\n  antidisestablishmentarianism"
    client = Client(llm=lambda prompt: "x")
    tokens = client.tokenize(text)
    assert client.detokenize(tokens) == text
    assert client.count_tokens(text) == len(tokens)
    assert 100 <= client.count_tokens("the quick brown fox jumps " * 20) <= 140

    class Counts:
        def generate_text(self, prompt: str) -> str:
            return prompt

        def tokenize(self, text: str) -> list[int]:
            return [ord(letter) for letter in text]

        def detokenize(self, tokens: list[int]) -> str:
            return "".join(map(chr, tokens))

    counts = Client(llm=Counts())
    assert counts.tokenize("ab") == [97, 98]
    assert counts.detokenize([97, 98]) == "ab"
    assert counts.count_tokens("abc") == 3


@pytest.mark.requirement("LCP-12")
def test_coroutines_await_the_same_methods_and_their_loop_goes_on() -> None:
    began, release = threading.Event(), threading.Event()

    def llm(prompt: str) -> str:
        began.set()
        assert release.wait(30)
        return f"slow: {prompt}"

    async def main() -> str:
        asked = asyncio.create_task(Client(llm=llm).aio.generate_text("x"))
        while not began.is_set():
            await asyncio.sleep(0.001)
        release.set()  # reached only because the loop is free
        return await asked

    assert asyncio.run(main()) == "slow: x"


@pytest.mark.requirement("LCP-12")
def test_the_tables_of_a_config_make_a_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "sk-of-the-config")
    (tmp_path / "sutler.toml").write_text(
        '[models.big]\nbase_url = "http://localhost:9/v1"\nmodel = "b"\napi_key = "${MODEL_KEY}"\nvision = true\n'
        '[models.fast]\nbase_url = "http://localhost:9/v1"\nmodel = "f"\n'
        '[models.draw]\nkind = "image"\nbase_url = "http://localhost:9/v1"\n'
    )
    client = Client.from_config(tmp_path / "sutler.toml")
    assert (client.llm.model, client.tti.model, client.tts) == ("b", "", None)
    assert str(client.llm).endswith("sutler.toml:1)")
    assert client.find_available_vlm() is client.llm
    assert client.switch_model("fast")
    assert client.llm.model == "f"
    assert client.find_available_vlm().model == "b"
    assert "sk-of" not in repr(client)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[models.x]\nmodel = 'm'", "1: models.x: `base_url` is missing"),
        ("[models.x]\nbase_url = 'localhost'", "2: models.x.base_url: must be an address"),
        (
            "[models.x]\nbase_url = 'http://a/v1'\nkind = 'images'",
            "3: models.x.kind: must be one of .*did you mean 'image'",
        ),
        (
            "[models.x]\nbase_url = 'http://a/v1'\napi_key = '${NO_SUCH_KEY}'",
            "3: models.x.api_key: .*NO_SUCH_KEY is not set",
        ),
        ("[models.x]\nbase_url = 'http://a/v1'\napi_key_env = 'K'", "3: models.x.api_key_env: .*write api_key ="),
        ("[models.x]\nbase_url = 'http://a/v1'\napi_key = \"a\\nb\"", "3: models.x.api_key: holds a character"),
        ("[models.x]\nbase_url = 'http://a/v1'\ntimeout = 0", "3: models.x.timeout: must be more than 0"),
        ("[models.x]\nbase_url = 'http://a/v1'\nctx_size = 'big'", "3: models.x.ctx_size: must be a number of tokens"),
        ("models = 3", "1: models: must be a table"),
        ("[models]\nbase_url = 'http://a/v1'", "2: models.base_url: must be the table of a model"),
    ],
)
@pytest.mark.requirement("CFG-01")
def test_a_wrong_table_is_named_with_file_and_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "sutler.toml"
    path.write_text(text + "\n")
    with pytest.raises(ConfigError, match=rf"sutler.toml:{says}"):
        Client.from_config(path)
