"""hours.py FILE [NAME]: hours of one employee, or of all."""
import csv
import sys

if len(sys.argv) not in (2, 3):
    sys.exit("usage: hours.py FILE [NAME]")
name = sys.argv[2].lower() if len(sys.argv) == 3 else None
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    rows = [row for row in csv.DictReader(file) if name in (None, row["name"].lower())]
if not rows:
    sys.exit(f"error: no rows for {sys.argv[2]}")
print(f"total hours: {sum(float(row['hours']) for row in rows):g}")
