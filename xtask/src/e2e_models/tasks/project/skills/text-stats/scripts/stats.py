"""stats.py FILE: words, lines and characters of a text."""
import sys

if len(sys.argv) != 2:
    sys.exit("usage: stats.py FILE")
with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
print(f"words: {len(text.split())}")
print(f"lines: {len(text.splitlines())}")
print(f"characters: {len(text)}")
