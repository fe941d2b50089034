"""sync.py CITY [--wait]: pallets that a depot has moved."""
import sys

MOVED = {"bremen": 143, "gdansk": 88, "porto": 61, "turku": 117}
city = next((word.lower() for word in sys.argv[1:] if not word.startswith("-")), "")
if city not in MOVED:
    sys.exit(f"error: no depot {city!r}; there are: {', '.join(MOVED)}")
if "--wait" not in sys.argv:
    sys.exit(f"busy: run it again with the arguments {city} --wait")
print(f"{city}: {MOVED[city]} pallets moved")
