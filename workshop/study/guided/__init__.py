"""The article's path as a guided study: from a naive start to the machine's limit in nine steps, each of them measured.

After Rawat and Kapoor, Optimizing Distributed AI Training Using Intel oneAPI Toolkits (Intel, 2021): its method, on the
machine at hand, with its figures beside one's own.

The steps are data, in `steps.yaml`. `cells` makes the grid of a step, `trials` says which trials it still wants,
`step_results` holds what has been measured. `verdicts` and `answers` choose what a step says, `cards`, `terminal` and
`page` show it.
"""
