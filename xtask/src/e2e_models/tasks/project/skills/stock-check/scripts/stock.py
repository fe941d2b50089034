"""stock.py ITEM [--warehouse NAME]: pieces in stock."""
import sys

STOCK = {
    "hinge": {"north": 412, "south": 867},
    "bracket": {"north": 95, "south": 233},
    "hook": {"north": 1504, "south": 76},
    "latch": {"north": 318, "south": 149},
}
args = sys.argv[1:]
where = None
if "--warehouse" in args:
    at = args.index("--warehouse")
    where = "".join(args[at + 1 : at + 2])
    del args[at : at + 2]
item = args[0].lower() if args else ""
if item not in STOCK:
    sys.exit(f"error: no item {item!r}; there are: {', '.join(STOCK)}")
if where not in STOCK[item]:
    sys.exit("error: say which warehouse: add the arguments --warehouse north or --warehouse south")
print(f"{item}, {where}: {STOCK[item][where]} pieces")
