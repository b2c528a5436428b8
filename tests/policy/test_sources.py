"""Policy sources: they see every call, can only tighten, hide tools, and deny when they fail (POL-09)."""

from __future__ import annotations

import asyncio
import threading
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from sutler import Policy, PolicySource, Rule, Runtime, SyncRuntime, ToolCall, ToolSpec, tool
from sutler.errors import ConfigError
from sutler.policy.sources import ordered, plugin_policies


class Says:
    """Answers always the same."""

    def __init__(self, answer: Any, *, name: str = "says", priority: float = 0, sees: Any = True) -> None:
        self.name, self.priority, self.answer, self.sees = name, priority, answer, sees
        self.asked: list[ToolCall] = []

    def decide(self, call: ToolCall, spec: ToolSpec) -> Any:
        self.asked.append(call)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(call) if callable(self.answer) else self.answer

    def visible(self, spec: ToolSpec) -> Any:
        if isinstance(self.sees, BaseException):
            raise self.sees
        return self.sees(spec) if callable(self.sees) else self.sees


@tool(read_only=True)
def look(path: str = "here", deep: dict[str, Any] | None = None) -> str:
    """Looks."""
    return path


@tool(destructive=True)
def wipe() -> str:
    """Wipes."""
    return "gone"


def opened(*guards: Any, **options: Any) -> SyncRuntime:
    base: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
    return SyncRuntime(tools=[look, wipe], policy_sources=guards, **base, **options)


@pytest.mark.requirement("POL-09")
@pytest.mark.parametrize(
    ("answer", "level", "outcome"),
    [
        (None, "safe", "allow"),
        ("allow", "safe", "allow"),
        ("allow", "strict", "ask"),
        ("ask", "full_access", "ask"),
        ("deny", "full_access", "deny"),
        (("deny", "not today"), "safe", "deny"),
        ((None, ""), "safe", "allow"),
    ],
)
def test_a_source_can_only_make_the_answer_stricter(answer: Any, level: Any, outcome: str) -> None:
    with opened(Says(answer), policy=level) as rt:
        result = rt.call("look")
        assert result.success == (outcome == "allow")
        if outcome == "deny":
            assert str(result.error).startswith("functions::look is denied by policy source says")
        if outcome == "ask":
            assert "nobody to ask" in str(result.error)


async def _answer() -> str:
    return "allow"


class Loud:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.requirement("POL-09")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ValueError("broken"), "it failed with ValueError: broken"),
        (SystemExit(3), "it failed with SystemExit"),
        ("maybe", "it answered 'maybe' instead of"),
        (True, "it answered True instead of"),
        (("allow", 3), "it answered ('allow', 3) instead of"),
        (["allow", "x"], "it answered ['allow', 'x'] instead of"),
        (lambda call: _answer(), "it answered <coroutine"),
        (Loud(), "whose repr raised"),
    ],
)
def test_one_that_raises_or_answers_nonsense_denies_and_the_error_says_whose_fault_it_is(
    answer: Any, words: str
) -> None:
    with opened(Says(answer, name="budget"), policy="full_access") as rt:
        error = rt.call("look").error
        assert error is not None and error.kind == "denied"
        assert "by policy source budget: " in str(error) and words in str(error)


@pytest.mark.requirement("POL-09")
def test_the_highest_priority_is_asked_first_and_a_deny_ends_the_asking() -> None:
    low, high = Says("deny", name="low", priority=-1), Says(("deny", "no"), name="high", priority=5)
    with opened(low, high) as rt:
        assert "policy source high" in str(rt.call("look").error)
    assert (len(high.asked), len(low.asked)) == (1, 0)


def test_a_source_sees_the_effective_arguments_and_cannot_change_them() -> None:
    def meddles(call: ToolCall) -> None:
        call.arguments["path"] = "/etc"  # type: ignore[index]
        call.arguments["deep"]["a"] = 2

    guard = Says(meddles)
    with opened(guard) as rt:
        result = rt.call("look", '{"deep": "{\\"a\\": 1}"}')
        assert result.output == "here"
    assert guard.asked[0].spec.qualified == "functions::look"


@pytest.mark.requirement("POL-09")
def test_a_hidden_tool_is_in_no_list_prompt_schema_check_or_call() -> None:
    with opened(Says(None, sees=lambda spec: spec.name != "wipe", name="shy")) as rt:
        inventory = rt.inventory()
        assert [row.spec.name for row in inventory.rows] == ["look"] == [one.name for one in rt.tools()]
        assert "wipe" not in inventory.format_description() + str(rt.schemas("openai"))
        assert not rt.check("wipe()").ok
        for name in ("wipe", "functions::wipe", "functions__wipe", "mcp__functions__wipe"):
            error = rt.call(name).error
            assert error is not None and error.kind == "not_found" and "wipe" not in str(error).partition(";")[2]
        assert inventory.hidden == (("functions::wipe", "policy source 'shy' hides it"),)


@pytest.mark.requirement("POL-09")
@pytest.mark.parametrize("sees", [False, None, 1, "yes", ValueError("x"), lambda spec: _answer()])
def test_a_tool_is_seen_only_when_every_source_says_true(sees: Any) -> None:
    with opened(Says(None, sees=sees, name="shy"), Says(None)) as rt:
        assert rt.tools() == []
        assert all("policy source 'shy' hides it" in reason for _, reason in rt.inventory().hidden)


def test_the_bare_name_of_a_hidden_tool_goes_to_no_other() -> None:
    class Other:
        name = "other"
        precedence = 1.0

        def available(self) -> bool:
            return True

        def discover(self) -> list[ToolSpec]:
            from sutler import Origin

            return [ToolSpec(name="wipe", origin=Origin(source="other", kind="function", precedence=1.0))]

        def resolve(self, spec: ToolSpec) -> Any:
            return lambda: "the other one"

    with opened(Says(None, sees=lambda spec: spec.origin.source != "functions"), sources=[Other()]) as rt:
        assert rt.call("wipe").error is not None
        assert rt.call("other::wipe").output == "the other one"


def test_a_plan_asks_sources_where_all_arguments_are_known_and_else_depends() -> None:
    guard = Says(lambda call: "deny" if call.arguments["path"] == "there" else None)
    with opened(guard) as rt:
        plan = rt.plan('look("there")\nlook("here")\nlook()\nlook(name)', params=["name"])
        assert [one.decision for one in plan.calls] == ["deny", "allow", "allow", "depends"]


@pytest.mark.requirement("POL-09")
def test_what_is_no_policy_source_is_an_error_of_the_keyword() -> None:
    class NoName(Says):
        name: Any = ""

        def __init__(self) -> None:
            self.priority = 0

    class NoNumber(Says):
        def __init__(self) -> None:
            self.name, self.priority = "x", "high"  # type: ignore[assignment]

    for wrong, words in (
        (object(), "no name, priority"),
        (Says, "is a class"),
        (NoName(), "name"),
        (NoNumber(), "number"),
    ):
        with pytest.raises(ConfigError, match=f"policy_sources: .*{words}"), opened(wrong):
            pass
    assert isinstance(Says(None), PolicySource)


def _give() -> Any:
    return [Says(("deny", "from a package"), name="packaged", priority=1)]


def _break() -> Any:
    raise ImportError("no such thing")


@pytest.mark.requirement("POL-09")
def test_an_installed_package_brings_sources_and_one_that_cannot_be_had_denies() -> None:
    def point(name: str) -> EntryPoint:
        return EntryPoint(name=name.strip("_"), value=f"{__name__}:{name}", group="sutler.policies")

    good, broken = plugin_policies([point("_give"), point("_break")][:1]), plugin_policies([point("_break")])
    call = ToolCall(call_id="1", spec=ToolSpec(name="t", origin=_origin()), arguments={})
    assert Policy(guards=ordered(good)).decide(call).reason == "from a package"
    refused = Policy(level="full_access", guards=ordered(broken)).decide(call)
    assert refused.outcome == "deny" and "plugin 'break'" in refused.reason and "no such thing" in refused.reason


def _origin() -> Any:
    from sutler import Origin

    return Origin(source="s", kind="function")


def test_a_rule_that_denies_is_not_put_before_the_sources() -> None:
    guard = Says("allow")
    policy = Policy(rules=[Rule(decision="deny")])
    with opened(guard, policy=policy) as rt:
        assert "rule" in str(rt.call("look").error)
    assert guard.asked == []


@pytest.mark.requirement("POL-09")
def test_a_source_may_block_without_holding_the_loop() -> None:
    """Asked on the loop, it would wait for a loop that waits for it."""
    heard = threading.Event()

    def waits(call: ToolCall) -> str:
        return "allow" if heard.wait(20) else "deny"

    async def main() -> None:
        base: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
        async with Runtime(tools=[look], policy_sources=[Says(waits)], **base) as rt:
            for _ in range(2):  # also when the tool is warm
                heard.clear()
                asked = asyncio.create_task(rt.call("look"))
                await asyncio.sleep(0)
                await asyncio.sleep(0.01)
                heard.set()
                assert (await asked).success

    asyncio.run(main())


@pytest.mark.requirement("POL-09")
def test_an_object_in_place_of_a_list_of_them_is_an_error_that_says_so() -> None:
    one: Any = Says(None)
    with pytest.raises(ConfigError, match=r"policy_sources: must be a list, not an object of Says"):
        SyncRuntime(config=False, policy_sources=one).open()
