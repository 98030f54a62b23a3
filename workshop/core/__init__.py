"""What everybody uses.

Words of the project: `placement`, `rank_map`, `topology` and `machines` (also machines that nobody here has), `memory`,
`ports`, `errors`, `config`, `words` (numbers in words). Files that others have made, read up to a limit: `documents`,
`yaml_files`, `xml_files`, `archives`, `lstopo`. Processes: `processes` finds and ends what a session left,
`parent_death` ends a process with its parent, `patience` makes time limits longer on a busy machine.
"""
