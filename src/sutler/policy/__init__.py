"""What may run: the autonomy levels, asking the person, trust in config files, masking of secrets."""
