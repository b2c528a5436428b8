"""Which shell commands are understood whole and harmless, so that they need not be asked for.

words: text -> words, pipelines, redirections; only what reads the same to every shell. table: what known commands do
with their options and operands. judge: a command's text -> the programs to run. What is judged is what runs: no shell
sees it.
"""
