"""A model behind an OpenAI-compatible server, over real HTTP: what it gives, and how its failures read."""

from __future__ import annotations

import base64
import json
import socket
import threading
from pathlib import Path

import pytest

from sutler.errors import ModelError
from sutler.host import Client, OpenAIServer

from .stand_in import KEY, WAV, StandIn, png


def server(models: StandIn, model: str = "echo", **more: object) -> OpenAIServer:
    return OpenAIServer(models.url, model=model, **{"timeout": 10.0, **more})  # type: ignore[arg-type]


@pytest.mark.requirement("LCP-12")
def test_a_prompt_is_answered_and_only_what_was_given_is_sent(models: StandIn) -> None:
    text = Client(llm=server(models)).generate_text("hello", n_predict=16, temperature=0, system_prompt="be brief")
    assert text == "echo: hello"
    assert models.seen[-1]["body"] == {
        "model": "echo",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        "max_tokens": 16,
        "temperature": 0,
    }


def test_images_of_a_prompt_are_sent_as_data_or_by_their_address(models: StandIn, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    images = [str(tmp_path / "a.png"), png(), base64.b64encode(png()).decode(), "https://example.org/a.jpg"]
    Client(llm=server(models)).generate_text("what is it?", images=images)
    _, *parts = models.seen[-1]["body"]["messages"][-1]["content"]
    urls = [part["image_url"]["url"] for part in parts]
    data = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
    assert urls == [data, data, data, "https://example.org/a.jpg"]
    with pytest.raises(ModelError, match="neither a file nor base64"):
        Client(llm=server(models)).generate_text("what is it?", images=["no such file.png"])


@pytest.mark.requirement("LCP-12")
def test_an_answer_comes_in_pieces_and_ends_when_the_callback_says_so(models: StandIn) -> None:
    models.answers = ["one two three", "one two three"]
    client = Client(llm=server(models))
    heard: list[str] = []
    assert client.generate_text("count", streaming_callback=heard.append).split() == ["one", "two", "three"]
    assert [piece.strip() for piece in heard] == ["one", "two", "three"]
    assert client.generate_text("count", streaming_callback=lambda text: "two" not in text).split() == ["one", "two"]


@pytest.mark.requirement("LCP-12")
def test_every_endpoint_of_the_api_is_a_modality(models: StandIn, tmp_path: Path) -> None:
    one = server(models)
    client = Client(llm=one, tti=one, tts=one, stt=one)
    assert client.generate_image(prompt="a lighthouse", width=1024, height=512) == png()
    assert models.seen[-1]["body"] == {
        "model": "echo",
        "prompt": "a lighthouse",
        "n": 1,
        "size": "1024x512",
        "response_format": "b64_json",
    }
    assert client.edit_image([png()], "brighter", mask=png()) == png(4, 4)
    assert models.seen[-1]["body"].count(b'filename="image0.png"') == 2
    assert client.generate_audio("hello", voice="nova") == WAV + b"hello"
    assert client.generate_speech("hello") == WAV + b"hello"
    (tmp_path / "a.wav").write_bytes(WAV)
    assert client.transcribe_audio(tmp_path / "a.wav").startswith("heard ")
    assert client.transcribe_audio(WAV).startswith("heard ")
    assert client.embed("four") == [4.0, 1.0]
    assert client.embed(["a", "bbb"]) == [[1.0, 1.0], [3.0, 1.0]]
    assert client.list_models() == ["echo", "other"]
    assert client.get_ctx_size() == 2048
    assert Client(llm=server(models, "other")).get_ctx_size() == 4096
    assert Client(llm=server(models, ctx_size=99)).get_ctx_size() == 99


def test_servers_give_images_each_in_their_way(models: StandIn) -> None:
    assert Client(tti=server(models, "only-base64")).generate_image("a") == png()
    assert Client(tti=server(models, "by-address")).generate_image("a") == png()


@pytest.mark.requirement("LCP-12")
@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("unknown", r"does not know the model .404 for POST /v1/chat/completions.: model 'unknown' not found"),
        ("broken", r"answered 500 to POST /v1/chat/completions: out of memory"),
        ("html", r"answered a chat completion with what is no JSON: It works!"),
        ("odd", r"answered a chat completion in another form than the API's"),
        ("hangs", r"did not answer POST /v1/chat/completions within 0.3 s"),
        ("trickles", r"did not answer POST /v1/chat/completions within 0.3 s"),
        ("cut", r"broke off POST /v1/chat/completions"),
        ("fails-well", r"failed: the model is not loaded"),
        (
            "moved",
            r"sends POST .* elsewhere .308., to https://elsewhere.example/v1/chat/completions: write the base_url",
        ),
    ],
)
def test_a_failure_names_the_server_the_model_and_what_happened(models: StandIn, model: str, says: str) -> None:
    slow = model in ("hangs", "trickles")
    client = Client(llm=server(models, model, timeout=0.3 if slow else 10.0, where="sutler.toml:4"))
    with pytest.raises(ModelError, match=says) as caught:
        client.generate_text("hello")
    assert f"the model {model!r} at {models.url} (sutler.toml:4)" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)


def test_a_server_that_does_not_stream_well_is_named_too(models: StandIn) -> None:
    for model in ("html", "odd", "broken", "fails-well"):
        with pytest.raises(ModelError, match=model):
            Client(llm=server(models, model)).generate_text("hello", streaming_callback=lambda text: None)
    with pytest.raises(ModelError, match=r"'pings' .* did not answer POST /v1/chat/completions within 0.3 s"):
        Client(llm=server(models, "pings", timeout=0.3)).generate_text("hello", streaming_callback=lambda text: None)


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match=rf"'m' at http://127.0.0.1:{port}/v1 cannot be reached: .*is it running"):
        OpenAIServer(f"http://127.0.0.1:{port}/v1", model="m", timeout=5).generate_text("hello")
    with pytest.raises(ModelError, match="base_url must be an http or https URL"):
        OpenAIServer("localhost:8080")


def test_an_endpoint_that_the_server_has_not_is_told_apart_from_a_model_it_has_not(models: StandIn) -> None:
    misplaced = OpenAIServer(models.url.removesuffix("/v1") + "/api", model="echo", timeout=5)
    with pytest.raises(
        ModelError, match=r"has no POST /api/chat/completions .404.: it does not offer this, or base_url"
    ):
        misplaced.generate_text("hello")


@pytest.mark.requirement("LCP-12")
def test_a_key_goes_to_its_server_alone_and_is_never_shown(models: StandIn) -> None:
    models.key = KEY
    held = server(models, api_key=KEY)
    assert held.generate_text("hello") == "echo: hello"
    models.key = "another"
    with pytest.raises(ModelError, match="the key is wrong") as caught:
        held.generate_text("hello")
    client = Client(llm=held)
    for shown in (str(caught.value), repr(held), str(held), repr(client), repr(vars(client))):
        assert KEY not in shown
    with pytest.raises(ModelError, match="it wants a key"):
        server(models).generate_text("hello")
    assert "authorization" not in {name.lower() for name in models.seen[-1]["headers"]}


@pytest.mark.requirement("LCP-12")
def test_no_key_of_the_environment_is_sent_anywhere(models: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "sk-from-the-environment")
    assert server(models).generate_text("hello") == "echo: hello"
    assert "sk-from-the-environment" not in json.dumps(models.seen)


def test_an_address_with_a_password_is_shown_without_it() -> None:
    held = OpenAIServer("http://me:hunter22@localhost:9/v1?token=abcdef", model="m")
    assert str(held) == "the model 'm' at http://localhost:9/v1"
    assert "hunter22" not in repr(held)


def test_a_busy_server_is_asked_again(models: StandIn) -> None:
    models.busy = 2
    assert server(models).generate_text("hello") == "echo: hello"
    assert len(models.seen) == 3
    models.busy = 9
    with pytest.raises(ModelError, match="too many requests"):
        server(models).generate_text("hello")


def test_many_threads_share_one_server_and_get_their_own_answers(models: StandIn) -> None:
    held, got = server(models), dict[int, str]()

    def ask(number: int) -> None:
        got[number] = held.generate_text(f"number {number}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {number: f"echo: number {number}" for number in range(16)}


@pytest.mark.requirement("LCP-12")
def test_a_model_calls_tools_until_it_answers(models: StandIn) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "double", "arguments": '{"n": 4}'}}
    broken = {"id": "c2", "type": "function", "function": {"name": "double", "arguments": '{"n": '}}
    unknown = {"id": "c3", "type": "function", "function": {"name": "halve", "arguments": "{}"}}
    models.answers = [
        {"role": "assistant", "content": None, "tool_calls": [call, broken, unknown]},
        "it is 8",
    ]
    double = {
        "name": "double",
        "description": "Doubles.",
        "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "callable": lambda n: {"success": True, "output": 2 * n},
    }
    done = Client(llm=server(models)).generate_with_tools("double 4", [double])
    assert done["response"] == "it is 8"
    assert (done["rounds"], [call["name"] for call in done["tool_calls"]]) == (1, ["double", "double", "halve"])
    assert done["tool_results"][0] == {"success": True, "output": 8}
    assert "no JSON object" in done["tool_results"][1]["error"]
    assert "there is no tool 'halve'" in done["tool_results"][2]["error"]
    sent = models.seen[-1]["body"]["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "tool", "tool"]
    assert json.loads(sent[2]["content"]) == {"success": True, "output": 8}
    models.answers = [{"role": "assistant", "content": "let me see", "tool_calls": [call]}]
    unmade = Client(llm=server(models)).generate_with_tools("double 4", [double], auto_execute=False)
    assert (unmade["response"], unmade["tool_calls"][0]["parameters"], unmade["tool_results"]) == (
        "let me see",
        {"n": 4},
        [],
    )


def test_a_model_that_never_stops_calling_tools_is_stopped(models: StandIn) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "again", "arguments": "{}"}}
    models.answers = [{"role": "assistant", "content": None, "tool_calls": [call]} for _ in range(9)]
    again = {"name": "again", "description": "", "callable": lambda: "more"}
    with pytest.raises(ModelError, match="still calls tools after 3 rounds"):
        Client(llm=server(models)).generate_with_tools("go", [again], max_tool_rounds=3)
