"""The names that a paper's files may use, and the parameters of each.

Each name is a validated model that is registered by defining the class. Nothing here imports torch: `spec` uses
the registry to validate papers and to plan, the other rooms read their options from it. A new loss term,
augmentation, corpus format or suite is the code in the room and an entry here.
"""
