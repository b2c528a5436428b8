"""What a policy of 200 rules costs a call: the decision alone, the arguments as a tool that writes a file has them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sutler import Grade, Origin, Pattern, Policy, Rule, ToolCall, ToolSpec

from .table import show

MANY = 200
BAR = 30.0  # microseconds


def cost(policy: Policy, call: ToolCall, root: Path) -> float:
    """Microseconds for one decision: the best of many short rounds, so that a busy machine does not count."""
    policy.decide(call, root)
    best = float("inf")
    for _ in range(100):
        began = time.perf_counter()
        for _ in range(50):
            policy.decide(call, root)
        best = min(best, (time.perf_counter() - began) / 50)
    return best * 1e6


def of_arguments(pattern: Callable[[int], Pattern], name: str = "path") -> list[Rule]:
    return [Rule(decision="deny", arguments={name: pattern(number)}) for number in range(MANY)]


def house() -> list[Rule]:
    """As a person might have them: some for every tool, most for single ones, on paths, texts, numbers and grades."""
    rules = [
        Rule(decision="deny", arguments={"*path*": Pattern(inside=["~/.ssh", "~/.gnupg", "/etc"])}),
        Rule(decision="deny", tool="*delete*", arguments={"path": Pattern(outside=".")}),
        Rule(decision="ask", tool="*write*", arguments={"path": Pattern(outside=".")}),
        Rule(decision="ask", at_least=Grade(3, 3), provenance="host_config"),
        Rule(decision="deny", source="fs", arguments={"content": Pattern(regex="(?i)BEGIN [A-Z ]*PRIVATE KEY")}),
    ]
    for number in range(65):
        rules += [
            Rule(decision="allow", tool=f"server{number % 9}::tool_{number}"),
            Rule(decision="ask", source=f"server{number}", arguments={"branch": Pattern(glob="release/*")}),
            Rule(decision="deny", tool=f"fs::*_{number}", arguments={"n": Pattern(above=number)}),
        ]
    return rules


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "a/b").mkdir(parents=True)
        spec = ToolSpec(name="write_file", origin=Origin(source="fs", kind="library"))
        arguments = {"path": "a/b/notes.txt", "content": "x" * 200, "n": 5}
        call = ToolCall(call_id="1", spec=spec, arguments=arguments)
        cases = {
            "no rule": [],
            "200, as in a house: five of them look at this call, three at its path": house(),
            "200 for other tools": [Rule(decision="ask", tool=f"t{n}*") for n in range(MANY)],
            "200 globs on one argument": of_arguments(lambda n: Pattern(glob=f"*secret{n}*")),
            "200 regexes on one argument": of_arguments(lambda n: Pattern(regex=f"secret{n}")),
            "200 ranges on one argument": of_arguments(lambda n: Pattern(above=n + 10), "n"),
            "200 globs on any argument named *path*": of_arguments(lambda n: Pattern(glob=f"*secret{n}*"), "*path*"),
            "200 folders on one argument": of_arguments(lambda n: Pattern(inside=f"/srv/{n}")),
            "one folder on one argument": of_arguments(lambda n: Pattern(inside="/srv"))[:1],
        }
        rows = [(name, cost(Policy(rules=rules), call, root), BAR) for name, rules in cases.items()]
    show("A decision, us", ("rules", "sutler", "bar"), rows)


if __name__ == "__main__":
    main()
