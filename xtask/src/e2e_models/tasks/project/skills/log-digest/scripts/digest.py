"""digest.py FILE: every line of a log with its class, then the counts."""
import sys

if len(sys.argv) != 2:
    sys.exit("usage: digest.py FILE")
counts = {"failed logins": 0, "logins": 0, "errors": 0, "pages": 0}
with open(sys.argv[1], encoding="utf-8") as file:
    for number, line in enumerate(file, 1):
        if "login failed" in line:
            kind = "failed logins"
        elif "login ok" in line:
            kind = "logins"
        elif " ERROR " in line:
            kind = "errors"
        else:
            kind = "pages"
        counts[kind] += 1
        print(f"line {number}: {kind}: {line.strip()}")
print("counts:")
for kind, count in counts.items():
    print(f"{kind}: {count}")
