"""Where tools come from: one small contract (base), and the sources that meet it."""
