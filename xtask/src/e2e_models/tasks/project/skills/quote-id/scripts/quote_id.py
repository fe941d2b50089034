"""quote_id.py CUSTOMER ORDER: the identifier of a quote."""
import sys

if len(sys.argv) != 3 or not sys.argv[2].lstrip("#").isdigit():
    sys.exit("usage: quote_id.py CUSTOMER ORDER (a name and a number)")
customer, order = sys.argv[1].strip().upper(), int(sys.argv[2].lstrip("#"))
check = (sum(map(ord, customer)) * 7 + order * 13) % 97
print(f"Q-{customer[:3]}-{order:05d}-{check:02d}")
