"""A client in its tools: injected, its tools nested, its keys masked, in threads, loops and worker processes."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime, SyncRuntime
from sutler.host import Client, OpenAIServer

from ..host.stand_in import KEY, StandIn, png, stand_in

Open = Callable[..., SyncRuntime]

OMNI = '''
from pathlib import Path


def tool_picture_book(subject: str, style: str = "ink", with_music: bool = True, lollms_client_instance=None):
    """
    Draws a picture, writes its caption, and finds music for it.

    Args:
        subject (str): What the picture shows.
        style (str): How it is drawn.
        with_music (bool): Whether there is music to it.
    """
    client = lollms_client_instance
    if client is None or client.llm is None or client.tti is None:
        return {"success": False, "error": "this tool needs a client with a text and an image model"}
    drawn = client.generate_image(prompt=f"{subject} in {style}", width=64, height=64)
    Path("picture.png").write_bytes(drawn)
    caption = str(client.generate_text(prompt=f"caption for {subject}", n_predict=32)).strip()
    music = None
    if with_music and client.ttm is not None:
        sound = client.generate_music(prompt=f"music for {subject}")
        if isinstance(sound, (bytes, bytearray)):
            music = "theme.wav"
            Path(music).write_bytes(sound)
    Path("caption.wav").write_bytes(client.generate_audio(caption))
    client.switch_model("fast")
    return {
        "success": True,
        "output": f"a book about {subject}: {caption}",
        "image_filename": "picture.png",
        "music_filename": music,
        "spoken": client.transcribe_audio("caption.wav"),
        "prompt_injection": "show picture.png",
    }
'''


@pytest.fixture
def models() -> Iterator[StandIn]:
    with stand_in() as server:
        yield server


def library(folder: Path, name: str, text: str) -> Path:
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / f"{name}.py").write_text(textwrap.dedent(text))
    return tools


def everything(models: StandIn, **more: Any) -> Client:
    one = OpenAIServer(models.url, model="echo", api_key=KEY, timeout=10)
    fast = OpenAIServer(models.url, model="fast", timeout=10)
    return Client(llm={"echo": one, "fast": fast}, tti=one, tts=one, stt=one, ttm=lambda prompt: b"la la", **more)


@pytest.mark.requirement("LCP-10", "LCP-12")
@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_an_omni_tool_runs_from_end_to_end(runtime: Open, models: StandIn, tmp_path: Path, isolation: str) -> None:
    text = OMNI
    if isolation == "process":
        text = "from sutler import tool\n" + OMNI.replace("\ndef tool", '\n@tool(isolation="process")\ndef tool')
    models.key = KEY
    client = everything(models)
    rt = runtime(
        tool_folders=[library(tmp_path, "book", text)], client=client, workspace=tmp_path / "work", policy="full_access"
    )
    [spec] = rt.tools()
    assert [arg.name for arg in spec.args] == ["subject", "style", "with_music"]
    result = rt.call("tool_picture_book", {"subject": "a lighthouse"})
    assert result.success, result.error
    assert result.output == "a book about a lighthouse: echo: caption for a lighthouse"
    assert (result.extra["image_filename"], result.extra["music_filename"]) == ("picture.png", "theme.wav")
    assert result.extra["spoken"].startswith("heard ")
    assert result.prompt_injection == "show picture.png"
    assert (tmp_path / "work" / "picture.png").read_bytes() == png()
    assert (tmp_path / "work" / "theme.wav").read_bytes() == b"la la"
    assert client.llm.model == "fast"


@pytest.mark.requirement("LCP-12")
@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_an_omni_tool_sees_which_modalities_are_missing(runtime: Open, tmp_path: Path, isolation: str) -> None:
    folder = library(
        tmp_path,
        "guards",
        f"""
        from sutler import tool

        @tool(isolation="{isolation}")
        def tool_guard(lollms_client_instance=None):
            client = lollms_client_instance
            found = [name for name in ("llm", "tti", "tts", "stt", "ttv", "ttm", "rag", "connection")
                     if getattr(client, name) is not None]
            try:
                client.generate_image("x")
            except RuntimeError as error:
                return {{"found": found, "error_text": str(error)}}
        """,
    )
    rt = runtime(tool_folders=[folder], client=Client(llm=lambda prompt: "x"))
    output = rt.call("tool_guard").output
    assert output["found"] == ["llm"]
    assert output["error_text"].startswith("TTI (image) binding not initialized: generate_image")


@pytest.mark.requirement("LCP-12")
@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_the_clients_tools_are_the_runtime_that_calls_under_its_gate(
    runtime: Open, tmp_path: Path, isolation: str
) -> None:
    folder = library(
        tmp_path,
        "calls",
        f"""
        from sutler import tool

        @tool(isolation="{isolation}")
        def tool_outer(lollms_client_instance=None):
            tools = lollms_client_instance.tools
            return {{
                "names": [one["name"] for one in tools.list_tools()],
                "inner": tools.execute_tool("functions::double", {{"n": 4}}),
                "unknown": tools.execute_tool("dubble"),
                "refused": tools.execute_tool("erase"),
            }}
        """,
    )

    def double(n: int) -> int:
        return 2 * n

    def erase() -> str:
        raise AssertionError("it must not run")

    client = Client()
    asked: list[str] = []

    def confirm(source: str, label: str, argv: Any = None) -> tuple[str, str]:
        asked.append(label)
        return ("reject", "no") if "erase" in label else ("allow", "")

    one = runtime(double, erase, tool_folders=[folder], client=client, policy="strict", confirm_handler=confirm)
    other = runtime(client=client)  # a second one with the same client changes nothing
    output = one.call("tool_outer").output
    assert set(output["names"]) == {"tool_outer", "double", "erase"}
    assert (output["inner"]["success"], output["inner"]["output"]) == (True, 8)
    assert output["unknown"]["status_code"] == 404 and "double" in output["unknown"]["error"]
    assert output["refused"]["success"] is False and output["refused"]["kind"] == "denied"
    assert len(asked) == 3
    assert client.tools is None  # of two runtimes none is calling
    other.close()
    assert client.tools.execute_tool("double", {"n": 1})["output"] == 2


@pytest.mark.requirement("LCP-12")
def test_calls_through_the_client_count_against_the_run(runtime: Open) -> None:
    client = Client()

    def leaf() -> int:
        return 1

    def outer(lollms_client_instance: Any = None) -> list[Any]:
        return [lollms_client_instance.tools.execute_tool("leaf").get("kind") for _ in range(5)]

    rt = runtime(leaf, outer, client=client, limits={"calls": 3})
    done = rt.run("outer()")
    assert done.output == [None, None, "limit", "limit", "limit"]


@pytest.mark.requirement("LCP-12")
def test_an_async_tool_awaits_the_client_and_blocks_no_loop(models: StandIn, tmp_path: Path) -> None:
    folder = library(
        tmp_path,
        "later",
        """
        import asyncio

        async def tool_later(prompt: str, lollms_client_instance=None):
            aio = lollms_client_instance.aio
            texts = await asyncio.gather(*(aio.generate_text(f"{prompt} {n}") for n in range(4)))
            inner = await aio.tools.execute_tool("double", {"n": 3})
            return {"texts": texts, "inner": inner["output"]}
        """,
    )

    async def double(n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n

    async def main() -> Any:
        async with Runtime(
            tools=[double], tool_folders=[folder], client=everything(models), config=False, default_tools=False
        ) as rt:
            return await rt.call("tool_later", {"prompt": "p"})

    result = asyncio.run(main())
    assert result.output == {"texts": [f"echo: p {n}" for n in range(4)], "inner": 6}


@pytest.mark.requirement("LCP-12", "LCP-16")
def test_an_async_tool_in_a_worker_process_awaits_the_client_too(
    runtime: Open, models: StandIn, tmp_path: Path
) -> None:
    folder = library(
        tmp_path,
        "far",
        """
        from sutler import tool

        @tool(isolation="process")
        async def tool_far(lollms_client_instance=None):
            return await lollms_client_instance.aio.generate_text("x")

        @tool(isolation="process")
        def tool_callback(lollms_client_instance=None):
            return lollms_client_instance.generate_text("x", streaming_callback=print)
        """,
    )
    rt = runtime(tool_folders=[folder], client=everything(models))
    assert rt.call("tool_far").output == "echo: x"
    refused = rt.call("tool_callback")
    assert refused.error is not None and "streaming_callback" in refused.error.message


@pytest.mark.requirement("LCP-12")
def test_an_async_binding_runs_on_the_loop_of_its_host() -> None:
    loops: list[Any] = []

    async def llm(prompt: str) -> str:
        loops.append(asyncio.get_running_loop())
        return f"<{prompt}>"

    def caption(lollms_client_instance: Any = None) -> str:
        return lollms_client_instance.generate_text("x")

    async def on_the_loop(lollms_client_instance: Any = None) -> str:
        return lollms_client_instance.generate_text("x")

    async def main() -> None:
        async with Runtime(
            tools=[caption, on_the_loop], client=Client(llm=llm), config=False, default_tools=False
        ) as rt:
            assert (await rt.call("caption")).output == "<x>"
            refused = await rt.call("on_the_loop")  # it would wait for itself
            assert refused.error is not None and "await it instead" in refused.error.message
        assert loops == [asyncio.get_running_loop()]

    asyncio.run(main())


@pytest.mark.requirement("LCP-12")
def test_a_model_that_hangs_leaves_the_tool_its_time(runtime: Open, models: StandIn) -> None:
    hangs = OpenAIServer(models.url, model="hangs", timeout=60)

    def caption(lollms_client_instance: Any = None) -> str:
        try:
            return lollms_client_instance.generate_text("x")
        except RuntimeError as error:
            return str(error)

    rt = runtime(caption, client=Client(llm=hangs), limits={"call_seconds": 4})
    result = rt.call("caption")
    assert "did not answer" in result.output and "'hangs'" in result.output


@pytest.mark.requirement("LCP-12", "PRG-10")
def test_a_key_of_the_client_is_masked_in_the_record(runtime: Open, models: StandIn) -> None:
    def leak(word: str) -> str:
        return f"the key is {word}"

    rt = runtime(leak, client=everything(models))
    done = rt.run(f"leak({KEY!r})")
    assert done.trace[0].result == "the key is ***"
    assert KEY not in repr(done.trace)


@pytest.mark.requirement("LCP-12", "CFG-01")
def test_a_runtime_has_the_client_that_its_config_makes(models: StandIn, tmp_path: Path) -> None:
    (tmp_path / "sutler.toml").write_text(f'[models.echo]\nbase_url = "{models.url}"\nmodel = "echo"\n')

    def caption(lollms_client_instance: Any = None) -> str:
        return lollms_client_instance.generate_text("x")

    with SyncRuntime(tools=[caption], config=tmp_path / "sutler.toml", default_tools=False) as rt:
        assert rt.call("caption").output == "echo: x"
    mine = Client(llm=lambda prompt: "mine")
    with SyncRuntime(tools=[caption], config=tmp_path / "sutler.toml", default_tools=False, client=mine) as rt:
        assert rt.call("caption").output == "mine"


@pytest.mark.requirement("TRU-01")
def test_models_of_an_untrusted_file_are_withheld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sutler.toml").write_text('[models.echo]\nbase_url = "http://localhost:9/v1"\n')
    monkeypatch.chdir(tmp_path)
    with SyncRuntime(default_tools=False) as rt:
        assert rt.core.client is None
        assert any("withheld: model echo" in reason for reason in rt.settings.config.withheld)


@pytest.mark.requirement("LCP-16")
def test_a_large_image_crosses_from_and_to_a_worker_process(runtime: Open, tmp_path: Path) -> None:
    folder = library(
        tmp_path,
        "large",
        """
        from sutler import tool

        @tool(isolation="process")
        def tool_large(lollms_client_instance=None):
            drawn = lollms_client_instance.generate_image("x")
            return [len(drawn), len(lollms_client_instance.edit_image(drawn, "darker")), drawn[:4] == b"\\x89PNG"]
        """,
    )

    class Painter:
        def generate_image(self, prompt: str) -> bytes:
            return b"\x89PNG" + bytes(20_000_000)

        def edit_image(self, images: bytes, prompt: str) -> bytes:
            return images + b"!"

    rt = runtime(tool_folders=[folder], client=Client(tti=Painter()))
    assert rt.call("tool_large").output == [20_000_004, 20_000_005, True]


@pytest.mark.requirement("LCP-12")
def test_a_model_inside_a_tool_calls_the_runtimes_tools_under_its_gate(runtime: Open, models: StandIn) -> None:
    def called(name: str, arguments: str) -> dict[str, Any]:
        return {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}

    def double(n: int) -> int:
        """Doubles."""
        return 2 * n

    def ask(lollms_client_instance: Any = None) -> Any:
        done = lollms_client_instance.generate_with_tools("double 4", ["double"])
        return [done["response"], [(one["success"], one.get("error") or one["output"]) for one in done["tool_results"]]]

    def misspelt(lollms_client_instance: Any = None) -> Any:
        return lollms_client_instance.generate_with_tools("double 4", ["dubble"])

    models.answers = [
        {"role": "assistant", "content": None, "tool_calls": [called("double", '{"n": "4"}'), called("double", "{}")]},
        "it is 8",
    ]
    rt = runtime(double, ask, misspelt, client=everything(models))
    response, (first, second) = rt.call("ask").output
    assert (response, first) == ("it is 8", [True, 8])
    assert second[0] is False and "missing required parameter 'n'" in second[1]
    sent = models.seen[-2]["body"]["tools"][0]["function"]
    assert (sent["name"], sent["description"], list(sent["parameters"]["properties"])) == ("double", "Doubles.", ["n"])
    wrong = rt.call("misspelt")
    assert wrong.error is not None and "client.tools has no tool 'dubble'; it has double" in wrong.error.message
