"""MCP servers as sources of tools: transports, one owner task per server, results as Python values."""
