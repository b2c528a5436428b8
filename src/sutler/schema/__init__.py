"""JSON Schema of tools: read from source or callables, checked, repaired, named, exported to dialects."""
