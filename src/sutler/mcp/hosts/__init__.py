"""The config files of other MCP hosts: where they are, how each is written, how one is changed without harm."""
