"""Who does what in which round."""

from __future__ import annotations

from openfl.component import RandomGroupedAssigner

LOOK = "aggregated_model_validation"


class LastLook(RandomGroupedAssigner):
    """In the last round institutions only test the model.

    OpenFL tests a round's model at the beginning of the next one, and saves the model with which a round began. So of
    its last round's training nobody would ever hear, and the average of it would be kept nowhere.
    """

    def get_tasks_for_collaborator(self, collaborator_name: str, round_number: int) -> list[str]:
        tasks = super().get_tasks_for_collaborator(collaborator_name, round_number)
        return [LOOK] if round_number == self.rounds - 1 else tasks

    def get_all_tasks_for_round(self, round_number: int) -> list[str]:
        return [LOOK] if round_number == self.rounds - 1 else super().get_all_tasks_for_round(round_number)
