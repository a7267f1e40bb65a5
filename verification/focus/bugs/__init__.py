"""Wrong variants of FOCUS and its baselines, one module per section; the claims name the ones they reject."""
import functools


def at(bug, field):
    """The same bug swapped into another field of an instance, such as a second algorithm that a claim compares."""
    @functools.wraps(bug)
    def there(value):
        return bug(value)
    there.of = field
    return there
