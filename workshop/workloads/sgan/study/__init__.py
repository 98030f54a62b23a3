"""The article's path as a guided study: from a naive start to the machine's limit in nine steps, each of them measured.

After Rawat and Kapoor, Optimizing Distributed AI Training Using Intel oneAPI Toolkits (Intel, 2021): its method, on the
machine at hand, with its figures beside one's own.

`steps.yaml` has the steps as data, and `guide` puts them together with everything else, for `workshop.study.guided`.
`cells` makes the grid of a step. `verdicts` chooses what a step says, and tells whether memory grows. `cards` and
`page` show it, and `command` runs it.
"""
