"""Ways to ask a person: at the terminal, and through the event queue of an interface.

A plain function, sync or async, is a handler too; MCP clients are asked by the server's own (server/person.py).
"""
