"""One processor to its limit as a guided study: `steps.yaml` has its steps and rules, `facts` what the rules need,
`cards` the figures, `guide` the kind of study, and `command` runs it."""
