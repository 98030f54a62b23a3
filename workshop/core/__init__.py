"""Basics that every package uses.

Words of the project: `placement`, `rank_map`, `topology` and `machines` (also invented ones and lstopo's),
`accelerators` (GPUs), `memory`, `ports`, `errors`, `config`, `words` (numbers in words), `forms` (what params say of
their field in a form). Files that others have made: `documents`, `yaml_files`. Files of ours: `output_files`.
Processes: `processes` finds and ends what a session left and locks files, `parent_death` ends a process with its
parent, `patience` makes time limits longer on a busy machine.
"""
