"""Faults that people reported of tool layers, fed to the whole runtime."""
