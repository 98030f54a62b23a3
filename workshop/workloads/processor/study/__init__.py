"""One processor to its limit as a guided study: `steps.yaml` has its steps and rules, `facts` what the rules need
and the kind of study, `cards` the figures, and `command` runs it."""
