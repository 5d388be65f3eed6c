"""Parents that are what they should be: chains that end."""

from collections.abc import Mapping

from attending.errors import LabelError


def require_trees(parents: Mapping[str, str | None], where: str) -> None:
    """Make sure that every chain of parents ends; every parent is a key.

    Raises:
        LabelError: If parents lead back to where they started; names the circle.
    """
    ends: set[str | None] = {None}
    for start in parents:
        chain: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in ends:
            if at in chain:
                raise LabelError(
                    f'the parents of "{at}" lead back to it',
                    where=where,
                    found=" < ".join([*list(chain)[list(chain).index(at) :][:5], at]),
                    step="Take one of these parents out.",
                )
            chain[at] = None
            at = parents[at]
        ends.update(chain)
