"""Programs: checked text, run in a sandbox, that calls tools by name."""
