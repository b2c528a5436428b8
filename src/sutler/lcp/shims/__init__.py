"""What the tool libraries of lollms_client import beside it, as far as they use it; see sources/aliases.py."""
