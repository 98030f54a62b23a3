"""The article's path as a guided study: from a naive start to the machine's limit in nine steps, each of them measured.

After Rawat and Kapoor, Optimizing Distributed AI Training Using Intel oneAPI Toolkits (Intel, 2021): its method, on the
machine at hand, with its figures beside one's own.

`steps.yaml` has the steps with their grids, questions and rules. `facts` has what these rules need beyond any guided
study, and the kind of study. `cards` has the figures, `command` runs it.
"""
