# A program for `sutler run`: plain text, no await. Tools are called by name; `checkout` is a parameter.
paths = find_files(pattern="src/**/*.py", path=checkout)
texts = [read_file(path) for path in paths]  # reads that do not depend on each other: up to 16 are under way at once

facts = []
unread = []
for path, text in zip(paths, texts):
    try:
        facts.append(module_facts(path=path, text=text))
    except RuntimeError as error:
        unread.append(str(error))

load_rows(database="facts.db", table="modules", rows=facts)


def ask(query):
    return sqlite_query(database="facts.db", query=query)["rows"]


layers = ask(
    "SELECT layer, count(*) AS modules, sum(lines) AS lines, sum(functions) AS functions"
    " FROM modules GROUP BY layer ORDER BY lines DESC"
)
longest = ask(
    "SELECT module, longest_function AS function, longest_lines AS lines"
    " FROM modules ORDER BY longest_lines DESC LIMIT 5"
)
for row in longest:
    row["module"] = row["module"].replace(checkout + "/", "")

touched = commits_per_file(checkout=checkout, suffix=".py", top=5)  # a tool of an MCP server, called as any other

total = sum(row["lines"] for row in facts)
report = [
    "# What this checkout is made of",
    f"Revision {checkout_revision()}: {len(facts)} modules, {total} lines.",
    "## By layer",
    markdown_table(layers),
    "## The longest functions",
    markdown_table(longest),
    "## Changed most often",
    markdown_table([{"file": file, "commits": commits} for file, commits in touched.items()]),
]
write_file("report.md", "\n\n".join(report) + "\n")
{"modules": len(facts), "lines": total, "layers": len(layers), "unread": unread}
