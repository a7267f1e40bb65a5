# Two commands: `make verify` decides the claims, `make test` runs the tests. Both set up .venv on first use; so does `make docs`,
# which adds sphinx to it and builds the documentation in reports/docs.
PY    ?= python3
V     := .venv
READY := $(V)/.ready
SITE  := $(V)/.ready-docs
ONE   := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: verify test lint docs frameworks clean

verify: $(READY)
	$(ONE) $(V)/bin/python -m fltheory verify verification --report reports --jobs 2

test: $(READY)
	$(ONE) $(V)/bin/python -m pytest -q -n 2 --timeout 300 -m "not slow and not fuzz" tests

lint: $(READY)
	$(V)/bin/ruff check .
	$(V)/bin/mypy

docs: $(SITE)
	$(ONE) $(V)/bin/python -m sphinx -q -W --keep-going -d reports/docs/.doctrees notebooks/docs reports/docs

frameworks:
	.ci/frameworks

clean:
	rm -rf $(V) .venv-frameworks reports

$(READY): pyproject.toml constraints.txt
	$(PY) -m venv $(V)
	$(V)/bin/python -m pip install -q -c constraints.txt -e '.[test]'
	touch $@

$(SITE): $(READY)
	$(V)/bin/python -m pip install -q -c constraints.txt -e '.[docs]'
	touch $@
