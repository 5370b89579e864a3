"""The registered names of a paper's files, and the parameters of each.

Each name is a validated model that is registered by defining the class. This package does not import torch:
`spec` uses the registry to validate papers and to plan, other packages load their options from it. To add a
loss term, augmentation, corpus format or suite, add the code to its package and an entry here.
"""
