"""Reading a model's text, whatever it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.errors import ModelError
from sutler.host import Client, answers

TEXTS = st.text() | st.lists(
    st.sampled_from(
        ["```", "```py\n", "\n", "<a>", "</a>", "<think>", "</think>", "{", "}", "[", '"', ":", "1", "a.py\n"]
    )
).map("".join)


@given(TEXTS)
def test_no_text_breaks_the_readers(text: str) -> None:
    assert "".join(answers.pieces(text)) == text
    for block in answers.code_blocks(text):
        assert block["content"] in text
    for tag, inner in answers.tags(text).items():
        assert inner in text and f"</{tag}>" in text
    assert all(inner in text for inner in answers.thinking_blocks(text))
    answers.without_thinking(text)
    try:
        answers.json_value(text)
    except ValueError as error:
        assert "no JSON" in str(error)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_json_is_found_in_whatever_stands_around_it(value: Any) -> None:
    held = {"answer": value}
    text = json.dumps(held)
    for answer in (text, f"```json\n{text}\n```", f"<think>{{no}}</think>Sure:\n{text}\nThere you are."):
        assert answers.json_value(answer) == held


@pytest.mark.parametrize(
    "text",
    [
        "<a>" * 60_000,
        "{" * 60_000,
        "[" * 60_000,
        "```\n" * 30_000,
        "```" + "a" * 100_000 + "`",
        "<think>" * 30_000,
        "\n" * 60_000,
    ],
)
def test_a_text_made_to_be_slow_is_read_all_the_same(text: str) -> None:
    answers.code_blocks(text), answers.tags(text), answers.thinking_blocks(text), answers.pieces(text)
    with pytest.raises(ValueError, match="no JSON"):
        answers.json_value(text)


def test_code_blocks_have_their_language_their_file_and_whether_they_end() -> None:
    text = (
        "First **a/main.py**:\n```python\nx = 1\n```\nand\n~~~js\nlet y\n~~~\n"
        "`notes.md`\n````md\n```\ninner\n```\n````\n```\ncut"
    )
    blocks = answers.code_blocks(text)
    assert [(one["type"], one["content"], one["is_complete"]) for one in blocks] == [
        ("python", "x = 1", True),
        ("js", "let y", True),
        ("md", "```\ninner\n```", True),
        ("", "cut", False),
    ]
    assert [one["index"] for one in blocks] == [0, 1, 2, 3]
    assert blocks[2]["file_name"] == "notes.md"


class Script:
    """A text model that says what it was told to, and remembers what it was asked."""

    def __init__(self, *said: str) -> None:
        self.said = list(said)
        self.asked: list[str] = []

    def __call__(self, prompt: str, **options: Any) -> str:
        self.asked.append(prompt)
        return self.said.pop(0) if len(self.said) > 1 else self.said[0]


@pytest.mark.requirement("LCP-12")
def test_data_is_asked_for_until_it_fits_its_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    script = Script("I think it is four", '{"n": "four"}', '<think>{"n": 1}</think>```json\n{"n": 4}\n```')
    client = Client(llm=script)
    assert client.generate_structured_content("how many?", schema) == {"n": 4}
    assert "it holds no JSON" in script.asked[1] and "I think it is four" in script.asked[1]
    assert "n" in script.asked[2] and "integer" in script.asked[2]
    assert Client(llm=Script('{"a": 1, "b": 2}')).generate_structured_content("x", {"a": "int"}) == {"a": 1, "b": 2}
    assert Client(llm=Script("[1]")).generate_structured_content("x", '{"type": "array"}') == [1]
    with pytest.raises(ModelError, match="no answer of 3 could be used: it holds no JSON; the last was 'no idea'"):
        Client(llm=Script("no idea")).generate_structured_content("x", schema)
    with pytest.raises(ModelError, match="the schema is no JSON"):
        client.generate_structured_content("x", "{")
    with pytest.raises(ModelError, match="the schema cannot be used"):
        client.generate_structured_content("x", {"type": "object", "properties": {"a": {"pattern": "("}}})


@pytest.mark.requirement("LCP-12")
def test_a_decision_is_never_made_of_an_answer_that_nobody_understood() -> None:
    assert Client(llm=Script('{"answer": false, "explanation": "e"}')).yes_no("is it?") is False
    both = Client(llm=Script('{"answer": true, "explanation": "e"}'))
    assert both.yes_no("is it?", return_explanation=True) == {"answer": True, "explanation": "e"}
    client = Client(llm=Script("perhaps"))
    for method, args in (
        ("yes_no", ("q",)),
        ("multichoice_question", ("q", ["a", "b"])),
        ("multichoice_ranking", ("q", ["a"])),
    ):
        with pytest.raises(ModelError, match=f"{method}: no answer of 3 could be used"):
            getattr(client, method)(*args)
    assert Client(llm=Script('{"index": 1, "explanation": ""}')).multichoice_question("q", ["a", "b"]) == 1
    with pytest.raises(ModelError, match=r"multichoice_question: .* index: it is greater than the maximum of 1"):
        Client(llm=Script('{"index": 2, "explanation": ""}')).multichoice_question("q", ["a", "b"])
    assert Client(llm=Script('{"ranking": [1, 0], "explanation": ""}')).multichoice_ranking("q", ["a", "b"]) == [1, 0]
    with pytest.raises(ModelError, match="no answer to choose from"):
        client.multichoice_question("q", [])


@pytest.mark.requirement("LCP-12")
def test_code_and_tags_are_taken_out_of_an_answer() -> None:
    assert Client(llm=Script("Here:\n```python\nx = 1\n```")).generate_code("write x") == "x = 1"
    script = Script("x = 1", "```python\nx = 1", "```python\nx = 1\n```")
    assert Client(llm=script).generate_code("write x", template="x = ?") == "x = 1"
    assert "no code block" in script.asked[1] and "cut off" in script.asked[2]
    assert Client(llm=Script("```py\na\n```\n```py\nb\n```")).generate_codes("two")[1]["content"] == "b"
    assert Client(llm=Script("```python\ny = 2\n```")).update_code("x = 1", "call it y") == "y = 2"
    assert Client(llm=Script("<think><x>no</x></think><x>yes</x>")).generate_with_tag("p", "x") == "yes"
    assert Client(llm=Script('<x>a</x> <y k="1">b</y>')).generate_with_tags("p") == {"x": "a", "y": "b"}
    client = Client(llm=Script("x"))
    assert client.extract_code_blocks("```\na\n```")[0]["content"] == "a"
    assert client.extract_thinking_blocks("<think>hm</think>a") == ["hm"]
    assert client.remove_thinking_blocks("<think>hm</think>a") == "a"


@pytest.mark.requirement("LCP-12")
def test_a_long_text_is_worked_through_in_pieces_and_none_of_it_is_left_out() -> None:
    words = [f"word{number}" for number in range(3000)]
    script = Script("note")
    assert Client(llm=script).long_context_processing(" ".join(words), "Sum it up.") == "note"
    assert len(script.asked) > 2
    assert all(any(word in asked for asked in script.asked) for word in words)
    short = Script("all at once")
    assert Client(llm=short).long_context_processing("a few words", "Sum it up.") == "all at once"
    assert len(short.asked) == 1
    echo = Client(llm=lambda prompt: prompt)  # notes that are as long as the text: it ends all the same
    assert "word2999" in echo.long_context_processing(" ".join(words), "Repeat.")
