"""What a client looks up and whom it writes to: its `rag` and its `connection` (LCP-12)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

from .bindings import Bindings


class Knowledge(Bindings):
    """What a client does with its `rag` and its `connection`; store_alias, channel_alias: one that is not in use."""

    def query_rag(
        self, query: str, top_k: int | None = None, store_alias: str | None = None, **options: Any
    ) -> list[Any]:
        """The passages that fit a query best, as the store gives them."""
        found = self.ask(
            "rag",
            "query",
            query,
            what="query_rag",
            binding=self._one("rag", store_alias),
            options={"top_k": top_k, **options},
        )
        return list(cast("list[Any]", found or []))

    def add_text_to_rag(
        self,
        text: str,
        unique_id: str | None = None,
        store_alias: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> bool:
        """Puts a text into the store. What the store says."""
        more = {"unique_id": unique_id, "metadata": metadata, **options}
        where = self._one("rag", store_alias)
        return bool(self.ask("rag", "add_text", text, what="add_text_to_rag", binding=where, options=more))

    def add_document_to_rag(
        self,
        file_path: str | os.PathLike[str],
        store_alias: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> bool:
        """Puts a file into the store. What the store says."""
        where = self._one("rag", store_alias)
        more = {"metadata": metadata, **options}
        return bool(self.ask("rag", "add_document", file_path, what="add_document_to_rag", binding=where, options=more))

    def query_sparql(self, sparql_query: str, store_alias: str | None = None, **options: Any) -> Any:
        """The answer of a store that speaks SPARQL."""
        return self.ask("rag", "query_sparql", sparql_query, binding=self._one("rag", store_alias), options=options)

    def get_rag_info(self, store_alias: str | None = None) -> dict[str, Any]:
        """What the store says of itself; {"error": ...} without one."""
        if self.rag is None and store_alias is None:
            return {"error": "RAG binding not initialized."}
        where = self._one("rag", store_alias)
        return self.ask("rag", "get_database_info", what="get_rag_info", binding=where)

    def send_connection_message(
        self, content: str, channel_alias: str | None = None, sender_name: str | None = None, **options: Any
    ) -> Any:
        """Sends a message; what the connection says of it."""
        return self.ask(
            "connection",
            "send_message",
            content,
            what="send_connection_message",
            binding=self._one("connection", channel_alias),
            options={"sender_name": sender_name, **options},
        )

    def list_connection_channels(self) -> list[Any]:
        """The channels of the connection; [] without one."""
        return [] if self.connection is None else list(self.ask("connection", "list_channels"))

    def _one(self, field: str, alias: str | None) -> Any:
        """The binding of an alias; None stands for the one in use."""
        return None if alias is None else self.alias(field, alias)
