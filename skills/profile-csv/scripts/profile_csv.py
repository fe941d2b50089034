#!/usr/bin/env python3
"""Say what is in a CSV or TSV file and what looks wrong with it, in sentences or, with --json, as JSON."""

import argparse
import collections
import csv
import itertools
import json
import os
import re
import sys

# $300, 1,234.50, 1,5 and 12%: numbers to a person, text to most programs.
WRITTEN = re.compile(r"[-+]?[$€£¥\uffe5]?\s?(\d{1,3}(,\d{3})+(\.\d+)?|\d+([.,]\d+)?)\s?[%$€£¥]?")


def kind(value):
    """The type a value is written in."""
    text = value.strip()
    if not text:
        return "empty"
    for name, convert in (("integer", int), ("number", float)):
        try:
            convert(text)
            return name
        except ValueError:
            pass
    if WRITTEN.fullmatch(text):
        return "number as text"
    if text.lower() in ("true", "false", "yes", "no"):
        return "boolean"
    return "text"


def profile_column(name, values):
    kinds = collections.Counter(kind(value) for value in values)
    empty = kinds.pop("empty", 0)
    present = [value.strip() for value in values if value.strip()]
    if set(kinds) <= {"integer", "number"} and kinds:
        numbers = [float(value) for value in present]
        low, high = min(numbers), max(numbers)
    else:
        low, high = min(present, default=None), max(present, default=None)
    common = collections.Counter(present).most_common(5)
    return {
        "name": name,
        "types": dict(sorted(kinds.items())),
        "empty": empty,
        "distinct": len(set(present)),
        "min": low,
        "max": high,
        "most_frequent": [{"value": value, "count": count} for value, count in common],
    }


def plural(count, word):
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def worries(report):
    """What looks wrong, the worst first."""
    rows = report["rows"]
    found = []
    for column in report["columns"]:
        name, kinds = column["name"], column["types"]
        if column["empty"] == rows:
            found.append((rows, f"The column {name} is empty."))
            continue
        if column["empty"]:
            found.append((column["empty"], f"{name} is empty in {plural(column['empty'], 'row')}."))
        numeric = kinds.get("integer", 0) + kinds.get("number", 0)
        others = sum(kinds.values()) - numeric - kinds.get("number as text", 0)
        if numeric and others:
            odd = next((it["value"] for it in column["most_frequent"] if kind(it["value"]) in ("text", "boolean")), None)
            such = f", such as \"{odd}\"" if odd is not None else ""
            found.append((min(numeric, others), f"{name} mixes {plural(numeric, 'number')} with {plural(others, 'other value')}{such}."))
        if kinds.get("number as text"):
            odd = next((it["value"] for it in column["most_frequent"] if kind(it["value"]) == "number as text"), "")
            found.append((kinds["number as text"], f"{name} has {plural(kinds['number as text'], 'number')} written as text, such as \"{odd}\"."))
        if column["distinct"] == 1 and rows > 1:
            found.append((0, f"{name} has the same value in every row: \"{column['most_frequent'][0]['value']}\"."))
    if report["ragged_rows"]:
        found.append((report["ragged_rows"], f"{plural(report['ragged_rows'], 'row')} have more or fewer fields than the header."))
    if report["duplicate_rows"]:
        found.append((report["duplicate_rows"], f"{plural(report['duplicate_rows'], 'row')} repeat another row exactly."))
    return [sentence for _, sentence in sorted(found, key=lambda it: -it[0])]


def describe(column):
    """One line about a column."""
    kinds = column["types"]
    if not kinds:
        return f"- {column['name']}: no values"
    name = max(kinds, key=kinds.get) if len(kinds) == 1 else " and ".join(sorted(kinds))
    line = f"- {column['name']}: {name}, {plural(column['distinct'], 'distinct value')}"
    if set(kinds) <= {"integer", "number"}:
        line += f", from {column['min']:g} to {column['max']:g}"
    elif column["most_frequent"] and column["most_frequent"][0]["count"] > 1:
        top = column["most_frequent"][0]
        line += f", most often \"{top['value']}\" ({top['count']:,} times)"
    return line


def sentences(report, file):
    found = worries(report)
    lines = [f"{file} has {plural(report['rows'], 'row')} and {plural(len(report['columns']), 'column')}."]
    if found:
        lines += [f"{plural(len(found), 'thing')} to look at:"] + [f"- {sentence}" for sentence in found]
    else:
        lines.append("Nothing looks wrong: no empty values, mixed types, duplicate or uneven rows.")
    if len(report["columns"]) == 1:
        lines.append("There is only one column; the delimiter may be wrong (--delimiter).")
    return "\n".join(lines + ["", "Columns:"] + [describe(column) for column in report["columns"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the CSV or TSV file")
    parser.add_argument("--delimiter", help="the character between columns (guessed by default)")
    parser.add_argument("--rows", type=int, default=None, help="read only the first ROWS rows")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    shown = options.file
    project = os.environ.get("WORKSPACE_DIR", "")
    if project and shown.startswith(project + os.sep):
        shown = shown[len(project) + 1 :]
    # A script of a skill starts in a directory of its own; the project is elsewhere.
    workspace = os.path.join(os.environ.get("WORKSPACE_DIR", ""), options.file)
    if not os.path.exists(options.file) and os.path.exists(workspace):
        options.file = workspace
    try:
        with open(options.file, newline="", encoding="utf-8-sig") as source:
            sample = source.read(64 * 1024)
            source.seek(0)
            delimiter = options.delimiter
            if delimiter is None:
                try:
                    delimiter = csv.Sniffer().sniff(sample, delimiters=",;\t|").delimiter
                except csv.Error:
                    delimiter = ","
            reader = csv.reader(source, delimiter=delimiter)
            header = next(reader, [])
            rows = list(itertools.islice(reader, options.rows))
    except (OSError, UnicodeDecodeError) as error:
        print(f"cannot read {options.file}: {error}", file=sys.stderr)
        return 1
    width = len(header)
    columns = [
        profile_column(name, [row[at] if at < len(row) else "" for row in rows])
        for at, name in enumerate(header)
    ]
    report = {
        "delimiter": delimiter,
        "rows": len(rows),
        "columns": columns,
        "ragged_rows": sum(1 for row in rows if len(row) != width),
        "duplicate_rows": len(rows) - len({tuple(row) for row in rows}),
    }
    if options.json:
        json.dump(report, sys.stdout, indent=2, ensure_ascii=False)
        print()
    else:
        print(sentences(report, shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
