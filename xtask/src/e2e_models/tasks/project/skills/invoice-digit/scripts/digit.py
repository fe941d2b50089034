"""digit.py NUMBER: the check digit of an invoice number."""
import sys

if len(sys.argv) != 2 or not sys.argv[1].isdigit():
    sys.exit("usage: digit.py NUMBER")
total = sum((3 if at % 2 == 0 else 1) * int(digit) for at, digit in enumerate(sys.argv[1]))
print(f"check digit: {(10 - total % 10) % 10}")
