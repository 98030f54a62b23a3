"""What the instructor learns from a round. `record` is what is known of it, `reading` makes that from the store, all
else is computed from it: `items` (questions), `learners`, `again` (what to go over again), `comparing` (two rounds),
`verdict`; `findings` is all of it together. `rows`, `csv`, `xlsx` and `report` write it down, `removing` takes somebody
out."""
