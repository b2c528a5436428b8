"""What the checker needs to know of each tool, worked out only for the tools a program names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..inventory import Inventory, Row
from ..lang import Param, ToolSig
from ..schema.names import parameter_names
from ..spec import ToolSpec


def program_row(inventory: Inventory, name: str) -> Row | None:
    """The tool that a program means by a name: a program name, or source__tool."""
    return inventory.program.get(name) or inventory.qualified_program.get(name)


class Signatures(Mapping[str, ToolSig]):
    """Every name a program may call -> its signature. Names are at hand; a schema is read when its tool is named."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def __getitem__(self, name: str) -> ToolSig:
        row = program_row(self._inventory, name)
        if row is None:
            raise KeyError(name)
        return signature_of(name, row.spec)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and program_row(self._inventory, name) is not None

    def __iter__(self) -> Iterator[str]:
        yield from self._inventory.program

    def __len__(self) -> int:
        return len(self._inventory.program)


def _other(spellings: Mapping[str, str], name: str) -> tuple[str, ...]:
    """How a program spells a parameter whose real name is no legal keyword."""
    spelling = spellings.get(name, name)
    return (spelling,) if spelling != name else ()


def signature_of(name: str, spec: ToolSpec) -> ToolSig:
    spellings = {real: spelling for spelling, real in parameter_names(arg.name for arg in spec.args).items()}
    params = tuple(
        Param(name=arg.name, required=arg.required, type=arg.type, accepts=_other(spellings, arg.name))
        for arg in spec.args
    )
    return ToolSig(
        name=name,
        params=params,
        extra=spec.accepts_extra,
        read_only=spec.read_only,
        grade=(spec.grade.w, spec.grade.d),
    )
