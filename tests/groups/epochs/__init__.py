"""A kind of group as small as one can be that has all that a KIP-848 group needs from the rows.

Each module stands for one that a new kind adds to `coordinator`; `recipe.py` has the lines that it adds to others.
"""
