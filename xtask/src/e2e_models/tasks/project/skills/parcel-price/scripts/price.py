"""price.py ZONE WEIGHT: the price of a parcel."""
import sys

BASE = {"A": 4.35, "B": 7.15, "C": 8.65, "D": 12.45, "E": 19.85}
PER_KG = {"A": 0.55, "B": 0.95, "C": 1.15, "D": 2.35, "E": 5.65}

if len(sys.argv) != 3 or sys.argv[1].upper() not in BASE:
    sys.exit("usage: price.py ZONE WEIGHT (zone A to E, see references/zones.md)")
zone = sys.argv[1].upper()
print(f"price: {BASE[zone] + PER_KG[zone] * float(sys.argv[2].removesuffix('kg')):.2f} EUR")
