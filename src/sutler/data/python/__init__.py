"""Which Python code is understood whole and harmless, and how code is run: in the sandbox, or as a real process.

allowed: what may be used unasked. judge: a code's text -> the reasons to ask. runner: what the process runs it with.
sandbox: the same in Monty.
"""
