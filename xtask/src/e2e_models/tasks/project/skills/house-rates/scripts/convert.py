"""convert.py AMOUNT FROM TO: an amount at the company's own rates."""
import sys

PER_EUR = {"EUR": 1.0, "NOK": 11.62, "SEK": 11.18, "PLN": 4.27, "CHF": 0.94}
if len(sys.argv) != 4 or not {sys.argv[2].upper(), sys.argv[3].upper()} <= PER_EUR.keys():
    sys.exit("usage: convert.py AMOUNT FROM TO (EUR, NOK, SEK, PLN, CHF)")
amount, source, target = float(sys.argv[1]), sys.argv[2].upper(), sys.argv[3].upper()
print(f"{amount / PER_EUR[source] * PER_EUR[target]:.2f} {target}")
