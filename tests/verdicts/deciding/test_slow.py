"""What a quick run leaves out: the file beside the ledger, and what it does to a claim."""
from types import SimpleNamespace

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.relations import at_most
from fltheory.verdicts.deciding import slow
from fltheory.verdicts.deciding.check import check
from fltheory.verdicts.records import Instance


def test_a_full_run_is_written_and_read_again(tmp_path):
    assert slow.read(tmp_path) == {}
    rows = [Instance("p", "a", "fast", seconds=0.1), Instance("p", "a", "slow, with a comma", seconds=2.04),
            Instance("p", "b", "needed", seconds=3.0), Instance("p", "b", "slow", seconds=3.0)]
    slow.write(tmp_path, rows, 0.25, spared={("b", "needed")})
    assert slow.read(tmp_path) == {"a": {"slow, with a comma"}, "b": {"slow"}}
    assert (tmp_path / slow.FILE).read_text().splitlines() == ["claim,instance,seconds", 'a,"slow, with a comma",2.0', "b,slow,3.0"]


def test_a_file_with_other_columns_is_refused(tmp_path):
    for text in ("claim,instance\na,b\n", "claim,instance,seconds\na,b\n", "claim,instance,seconds\na,b,1,2\n"):
        (tmp_path / slow.FILE).write_text(text)
        with pytest.raises(BadInput, match="columns"):
            slow.read(tmp_path)


def test_all_instances_stay_where_none_would_be_left():
    a, b = SimpleNamespace(name="a"), SimpleNamespace(name="b")
    assert slow.without((a, b), {"a"}) == [b]
    assert slow.without((a, b), {"a", "b"}) == [a, b]


def test_only_a_quick_run_leaves_slow_instances_out():
    on = [ft.Instance(name, ft.Quadratic([[[1]]], [[0]])) for name in ("plain", "large")]

    @ft.claim("small", on=on, powerless="an example", kind="identity", domain="both")
    def small(i):
        """A statement."""
        return at_most(i.problem.n, 1)
    small.slow = frozenset({"large"})
    assert [v.instance for v in check(small).instances] == ["plain", "large"]
    quick = check(small, quick=True)
    assert [v.instance for v in quick.instances] == ["plain"] and "1 instances (1 slow ones left out)" in quick.scope
    assert "left out" not in check(small).scope
