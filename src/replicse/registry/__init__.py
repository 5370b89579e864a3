"""What a paper file may name, and the parameters each of it takes: checked models with one registry line each.

Nothing here imports torch: `spec` reads it to check papers and to plan, the other rooms to know what they
are asked for. A new loss term, augmentation, corpus format or suite is its code in its room and one entry here.
"""
