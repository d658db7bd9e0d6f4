"""How many attempts of the tool this process has made; apart from tools.py, so that a driver needs none of its parts."""
COUNT = [0]
