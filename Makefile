# make demo and make test want nothing but Python 3.11 or later and make.
PYTHON ?= python3
BIN := .venv/bin
TOOLS = .venv/tools/$(notdir $(BIN))

# modules that are compiled are kept: each process of the tests would compile them again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all bench bench-page claims coverage masks evidence docs lint dist pythons lowest licences clean

demo: .venv/installed
	$(BIN)/manytruths demo

.venv/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

# irrCAC pins an old SciPy, panoptica an old NumPy, ome-zarr brings a client of S3, nnU-Net a PyTorch, and ngff-zarr, of which
# the schemas are read, much else: not needed
.venv/tested: .venv/installed requirements/test.txt requirements/torch.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/torch.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/test.txt -c requirements/torch.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps irrCAC panoptica==2.1.7 ome-zarr==0.18.0 ngff-zarr==0.50.0 nnunetv2 batchgenerators acvl-utils batchgeneratorsv2 dynamic-network-architectures
	touch $@

# what takes minutes (fuzzing, attacks, simulations) is left to test-all; a file is one process's, which makes its fixtures once
test: .venv/tested
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow" $(TESTS)

# kernels for a GPU run in Triton's interpreter, which stands apart, so that PyTorch does not see it in the other tests
.venv/triton: .venv/tested
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ triton==3.9.0
	touch $@

test-all: .venv/tested .venv/triton
	$(BIN)/python -m pytest -q -n auto --dist loadfile $(TESTS)
	TRITON_INTERPRET=1 PYTHONPATH=.venv/triton $(BIN)/python -m pytest -q tests/learning/test_fused_kernels.py

lint: .venv/tested
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.docstrings

# crowd-kit asks for versions that others do not have
.venv/benched: .venv/tested
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps crowd-kit
	touch $@

bench: .venv/benched
	$(BIN)/python -m benchmarks

# the same, kept in docs/benchmarks.json, and written to docs/benchmarks.md; wants a quiet machine
bench-page: .venv/benched
	$(BIN)/python -m benchmarks --json docs/benchmarks.json
	$(BIN)/python -m benchmarks.page

# how often each claim is made where it is false: writes the tables of docs/claims.md, in some 20 minutes
claims: .venv/tested
	$(BIN)/python -m tests.simulations.claims

# how often 95% intervals hold the true value, written to docs/coverage.md; takes some minutes
coverage: .venv/tested
	$(BIN)/python -m tests.simulations.coverage

# how many broken masks check finds, and false alarms, written to docs/masks.md; takes some minutes
masks: .venv/tested
	$(BIN)/python -m tests.simulations.masks

# published numbers beside ours, written to docs/evidence.md; needs the data sets (MANYTRUTHS_DATA)
evidence: .venv/tested
	$(BIN)/python -m tests.evidence

docs: .venv/tested
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# apart, since they ask for other versions than the tests
.venv/tools/ready: .venv/installed requirements/release.txt
	$(BIN)/python -m venv .venv/tools
	$(TOOLS)/python -m pip install --quiet --disable-pip-version-check -r requirements/release.txt
	touch $@

# the wheel and the source distribution, built and checked, in dist/; the recipe is rendered and not built, which needs a channel
dist: .venv/tools/ready
	rm -rf dist
	$(TOOLS)/python -m build --outdir dist
	$(TOOLS)/twine check --strict dist/*
	$(TOOLS)/check-wheel-contents dist/*.whl
	$(TOOLS)/cffconvert --validate --infile CITATION.cff
	$(TOOLS)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/tests.yml
	$(TOOLS)/python -m tests.recipe

# the wheel and the newest of what it needs, in an empty environment of each Python that is here; then the demo
pythons: dist
	$(TOOLS)/python -m tests.fresh_environments dist/*.whl

# the wheel with the lowest versions that pyproject.toml allows; then the demo and some tests
lowest: dist
	$(TOOLS)/python -m tests.fresh_environments --lowest dist/*.whl

# the licences of what the package and its extras need, by their metadata, written to THIRD_PARTY.md
licences: .venv/tested
	$(BIN)/python -m tests.licences

clean:
	rm -rf .venv manytruths-demo manytruths-out docs/_build dist
