"""The article's path as a guided study: from a naive start to the machine's limit in nine steps, each of them measured.

After Rawat and Kapoor, Optimizing Distributed AI Training Using Intel oneAPI Toolkits (Intel, 2021): its method, on the
machine at hand, with its figures beside one's own.

`steps.yaml` has the steps as data, and `guide` puts them together with everything else, for `workshop.study.guided`.
`cells` makes the grid of a step, with the variables of `settings`. `results` reads times and threads from what has been
measured, `memory` tells whether memory grows. `verdicts` and `answers` choose what a step says. `cards`, `page` and
`page_step` show it, and `command` runs it.
"""
