"""The article's path as a guided study: from a naive start to the machine's limit in nine steps, each of them measured.

After Rawat and Kapoor, Optimizing Distributed AI Training Using Intel oneAPI Toolkits (Intel, 2021): its method, on the
machine at hand, with its figures beside one's own.

`steps.yaml` has the steps with their grids, questions and rules. `facts` has what these rules need beyond any guided
study, and `memory` tells whether memory grows. `cards` has the figures, `guide` the kind of study, `command` runs it.
"""
