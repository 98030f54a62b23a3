"""A launcher that starts ranks on this machine, and tells them on which shelf they are."""

from dataclasses import replace

from workshop.core.errors import BadInput
from workshop.runtime.launchers import site
from workshop.runtime.launchers.site import check_placement

__all__ = ["Site", "check_placement", "site_for"]


def site_for(placement, shelf=None):
    if shelf is not None and not shelf.isdecimal():
        raise BadInput(f"--shelf is {shelf!r}: it should be a number.")
    return {"kind": "box", "shelf": shelf or "1"}


class Site(site.Site):
    def launch(self, placement, variables):
        started = super().launch(placement, variables)
        return replace(started, environment=started.environment | {"BROUGHT_SHELF": self.options["shelf"]})
