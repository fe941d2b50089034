#!/usr/bin/env python3
"""Print a JSON profile of a CSV or TSV file: rows, duplicates, and each column's content."""

import argparse
import collections
import csv
import itertools
import json
import os
import sys


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the CSV or TSV file")
    parser.add_argument("--delimiter", help="the character between columns (guessed by default)")
    parser.add_argument("--rows", type=int, default=None, help="read only the first ROWS rows")
    options = parser.parse_args()
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
    json.dump(report, sys.stdout, indent=2, ensure_ascii=False)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
