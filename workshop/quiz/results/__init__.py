"""The results of a round for the instructor. `record` is a round as the store has it. From it come `answers` to a
question and `findings` (questions, learners, the verdict). `cards` shows the findings; `spreadsheets` writes them."""
