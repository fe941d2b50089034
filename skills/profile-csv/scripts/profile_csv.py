#!/usr/bin/env python3
"""Say what is in a CSV or TSV file and what looks wrong with it, in sentences or, with --json, as JSON.

The sentences are in English or, with --lang zh, in Chinese (tidy:allow-cjk).
"""

import argparse
import collections
import csv
import itertools
import json
import os
import re
import sys

# $300, 1,234.50, 1.234,50, 1,5 and 12%: numbers to a person, text to most programs.
WRITTEN = re.compile(
    r"[-+]?([$€£¥\uffe5]?)\s?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:[.,]\d+)?)\s?([%$€£¥\uffe5]?)"
)


def way_of_writing(value):
    """What the comma of a number is, and its currency; an empty word where it does not say."""
    found = WRITTEN.fullmatch(value.strip())
    if not found:
        return "", ""
    before, digits, after = found.groups()
    mark = (before or after).replace("\uffe5", "¥")
    if re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", digits):
        return "thousands", mark
    if "," in digits or digits.count(".") > 1:
        return "decimal", mark
    if "." in digits and not re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", digits):
        return "thousands", mark
    return "", mark


def two_ways(values):
    """Two values of a column of which the comma, or the currency, is not the same; or nothing."""
    commas, marks = {}, {}
    for value in values:
        comma, mark = way_of_writing(value)
        for known, word in ((commas, comma), (marks, mark)):
            if word:
                known.setdefault(word, value.strip())
            if len(known) == 2:
                return list(known.values())
    return None


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
        # A whole number stays one: a float is exact up to 9007199254740992.
        numbers = [int(value) if kind(value) == "integer" else float(value) for value in present]
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
        "two_ways": two_ways(dict.fromkeys(present)),
    }


def plural(count, word):
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def shown_number(number):
    return str(number) if isinstance(number, int) else f"{number:.15g}"


class English:
    """The sentences."""

    TYPES = {}
    JOIN = " and "
    CLEAN = "Nothing looks wrong: no empty values, mixed types, duplicate or uneven rows."
    ONE_COLUMN = "There is only one column; the delimiter may be wrong (--delimiter)."
    COLUMNS = "Columns:"

    def size(self, file, rows, columns):
        return f"{file} has {plural(rows, 'row')} and {plural(columns, 'column')}."

    def found(self, count):
        return f"{plural(count, 'thing')} to look at:"

    def all_empty(self, name):
        return f"The column {name} is empty."

    def empty(self, name, count):
        return f"{name} is empty in {plural(count, 'row')}."

    def mixed(self, name, numbers, others, odd):
        such = f", such as \"{odd}\"" if odd is not None else ""
        return f"{name} mixes {plural(numbers, 'number')} with {plural(others, 'other value')}{such}."

    def as_text(self, name, count, odd):
        return f"{name} has {plural(count, 'number')} written as text, such as \"{odd}\"."

    def constant(self, name, value):
        return f"{name} has the same value in every row: \"{value}\"."

    def uneven(self, count):
        return f"{plural(count, 'row')} {'has' if count == 1 else 'have'} more or fewer fields than the header."

    def repeated(self, count):
        return f"{plural(count, 'row')} {'repeats' if count == 1 else 'repeat'} another row exactly."

    def no_values(self, name):
        return f"- {name}: no values"

    def column(self, name, kinds, distinct):
        return f"- {name}: {kinds}, {plural(distinct, 'distinct value')}"

    def between(self, low, high):
        return f", from {shown_number(low)} to {shown_number(high)}"

    def two_ways(self, name, one, other):
        return f"{name} writes numbers in two ways: \"{one}\" and \"{other}\"."

    def missing(self, file):
        return f"there is no file {file}"

    def not_text(self, file):
        return f"{file} is not UTF-8 text; save it as UTF-8 first (in Excel: \"CSV UTF-8\")"

    def unreadable(self, file, error):
        return f"cannot read {file}: {error}"

    def delimiter(self):
        return "the delimiter is one character, or the word tab"

    def most_often(self, value, times):
        return f", most often \"{value}\" ({times:,} times)"


class Chinese:
    """The same in Chinese."""

    TYPES = {"integer": "整数", "number": "小数", "number as text": "文本形式的数字", "boolean": "布尔值", "text": "文本"}
    JOIN = "、"
    CLEAN = "没有发现问题：没有空值、混合类型、重复行或字段数不一致的行。"
    ONE_COLUMN = "只有一列，分隔符可能不对（--delimiter）。"
    COLUMNS = "各列："

    def size(self, file, rows, columns):
        return f"{file} 共有 {rows:,} 行、{columns:,} 列。"

    def found(self, count):
        return f"有 {count:,} 处需要注意："

    def all_empty(self, name):
        return f"{name} 列全部为空。"

    def empty(self, name, count):
        return f"{name} 有 {count:,} 行为空。"

    def mixed(self, name, numbers, others, odd):
        such = f"，例如“{odd}”" if odd is not None else ""
        return f"{name} 混有 {numbers:,} 个数字和 {others:,} 个其他值{such}。"

    def as_text(self, name, count, odd):
        return f"{name} 有 {count:,} 个数字写成了文本，例如“{odd}”。"

    def constant(self, name, value):
        return f"{name} 每一行的值都相同：“{value}”。"

    def uneven(self, count):
        return f"有 {count:,} 行的字段数与表头不一致。"

    def repeated(self, count):
        return f"有 {count:,} 行与另一行完全重复。"

    def no_values(self, name):
        return f"- {name}：没有值"

    def column(self, name, kinds, distinct):
        return f"- {name}：{kinds}，{distinct:,} 个不同的值"

    def between(self, low, high):
        return f"，从 {shown_number(low)} 到 {shown_number(high)}"

    def two_ways(self, name, one, other):
        return f"{name} 中的数字有两种写法：“{one}”与“{other}”。"

    def missing(self, file):
        return f"没有文件 {file}"

    def not_text(self, file):
        return f"{file} 不是 UTF-8 文本；请先另存为 UTF-8（Excel 中选“CSV UTF-8”）"

    def unreadable(self, file, error):
        return f"无法读取 {file}：{error}"

    def delimiter(self):
        return "分隔符是一个字符，或单词 tab"

    def most_often(self, value, times):
        return f"，最常见的是“{value}”（{times:,} 次）"


def worries(report, words):
    """What looks wrong, the worst first."""
    rows = report["rows"]
    found = []
    for column in report["columns"]:
        name, kinds = column["name"], column["types"]
        if column["empty"] == rows:
            found.append((rows, words.all_empty(name)))
            continue
        if column["empty"]:
            found.append((column["empty"], words.empty(name, column["empty"])))
        numeric = kinds.get("integer", 0) + kinds.get("number", 0)
        others = sum(kinds.values()) - numeric - kinds.get("number as text", 0)
        if numeric and others:
            odd = next((it["value"] for it in column["most_frequent"] if kind(it["value"]) in ("text", "boolean")), None)
            found.append((min(numeric, others), words.mixed(name, numeric, others, odd)))
        if kinds.get("number as text"):
            odd = next((it["value"] for it in column["most_frequent"] if kind(it["value"]) == "number as text"), "")
            found.append((kinds["number as text"], words.as_text(name, kinds["number as text"], odd)))
        if column["two_ways"]:
            found.append((rows, words.two_ways(name, *column["two_ways"])))
        if column["distinct"] == 1 and rows > 1:
            found.append((0, words.constant(name, column["most_frequent"][0]["value"])))
    if report["ragged_rows"]:
        found.append((report["ragged_rows"], words.uneven(report["ragged_rows"])))
    if report["duplicate_rows"]:
        found.append((report["duplicate_rows"], words.repeated(report["duplicate_rows"])))
    return [sentence for _, sentence in sorted(found, key=lambda it: -it[0])]


def describe(column, words):
    """One line about a column."""
    kinds = column["types"]
    if not kinds:
        return words.no_values(column["name"])
    names = words.JOIN.join(words.TYPES.get(name, name) for name in sorted(kinds))
    line = words.column(column["name"], names, column["distinct"])
    if set(kinds) <= {"integer", "number"}:
        line += words.between(column["min"], column["max"])
    elif column["most_frequent"] and column["most_frequent"][0]["count"] > 1:
        top = column["most_frequent"][0]
        line += words.most_often(top["value"], top["count"])
    return line


def sentences(report, file, words):
    found = worries(report, words)
    lines = [words.size(file, report["rows"], len(report["columns"]))]
    if found:
        lines += [words.found(len(found))] + [f"- {sentence}" for sentence in found]
    else:
        lines.append(words.CLEAN)
    if len(report["columns"]) == 1:
        lines.append(words.ONE_COLUMN)
    return "\n".join(lines + ["", words.COLUMNS] + [describe(column, words) for column in report["columns"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the CSV or TSV file")
    parser.add_argument("--delimiter", help="the character between columns (guessed by default)")
    parser.add_argument("--rows", type=int, default=None, help="read only the first ROWS rows")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="the language of the sentences")
    options = parser.parse_args()
    words = Chinese() if options.lang == "zh" else English()
    if options.delimiter == "tab":
        options.delimiter = "\t"
    if options.delimiter is not None and len(options.delimiter) != 1:
        print(words.delimiter(), file=sys.stderr)
        return 2
    shown = options.file
    project = os.environ.get("WORKSPACE_DIR", "")
    if project and shown.startswith(project + os.sep):
        shown = shown[len(project) + 1 :]
    elif "/stage/given/" in shown:
        shown = os.path.basename(shown)
    # A script of a skill starts in a directory of its own; the project is elsewhere.
    workspace = os.path.join(os.environ.get("WORKSPACE_DIR", ""), options.file)
    if not os.path.exists(options.file) and os.path.exists(workspace):
        options.file = workspace
    if not os.path.exists(options.file):
        print(words.missing(shown), file=sys.stderr)
        return 1
    try:
        with open(options.file, "rb") as source:
            # UTF-16 and binary files have zero bytes.
            if any(b"\0" in part for part in iter(lambda: source.read(1 << 20), b"")):
                raise UnicodeError
        with open(options.file, newline="", encoding="utf-8-sig") as source:
            sample = source.read(64 * 1024)
            # In a first line control characters are those of a binary file.
            if re.search(r"[\x01-\x08\x0e-\x1f]", sample.split("\n", 1)[0]):
                raise UnicodeError
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
    except UnicodeError:
        print(words.not_text(shown), file=sys.stderr)
        return 1
    except OSError as error:
        print(words.unreadable(shown, error.strerror), file=sys.stderr)
        return 1
    except csv.Error as error:
        print(words.unreadable(shown, error), file=sys.stderr)
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
        print(sentences(report, shown, words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
