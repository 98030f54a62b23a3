"""Federations, and those of OpenFL in particular, which lives in an environment of its own.

`environment` installs that, `fx` runs OpenFL's commands, `plan` writes what they read and `reading` reads what they
write, `pki` is the order in which keys, requests and certificates come about. `backends` and `status` are what the
command line has to know.
"""
