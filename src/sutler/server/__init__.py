"""The MCP server face: everything there is to call, for any MCP host, over stdio or HTTP (SRV-01, SRV-02, SRV-03).

Needs the `mcp` package; nothing here is imported unless a server is asked for.
"""
