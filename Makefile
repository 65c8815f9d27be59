# Every target sets up what it needs in .venv. Start with `make demo`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
SOURCES := pyproject.toml setup.py constraints.txt $(wildcard src/wayscore/kernels/native/*)
unexport PYTHONDONTWRITEBYTECODE  # or every process of a test compiles the same files again

.PHONY: demo test soak lint pythons recorder bench twins sanitize fuzz docs schemas wheel sbom lock clean

demo: .venv/base  ## the main job on generated worlds, nothing to download
	$(BIN)/wayscore demo --out demo-output

test: .venv/dev  ## the quick suite; set WAYSCORE_DATA for the tests on real data
	$(BIN)/python -m pytest -q -n 2 -m "not soak"

soak: .venv/dev  ## the tests that are slow by nature
	$(BIN)/python -m pytest -q -n 2 -m soak

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

pythons:  ## a quick selection of the tests on every Python that is found, and on the lowest declared versions
	tests/pythons.sh
	tests/pythons.sh lowest

recorder:  ## the recorder's own tests on every Python that is found, from 3.6 on
	recorder/tests/pythons.sh

bench: .venv/dev  ## ratios against peers, measured in one run; OPTIONS="--aeon PYTHON --before PYTHON" for two more
	$(BIN)/python -m benchmarks --json benchmarks/results.json $(OPTIONS)
	$(BIN)/python -m benchmarks.readme

twins: .venv/dev  ## native and NumPy kernels on 10,000 random shapes
	$(BIN)/python -m tests.twins 10000

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g
sanitize: .venv/dev  ## the same under AddressSanitizer and UndefinedBehaviorSanitizer
	$(PIP) "setuptools>=77"
	rm -rf build/sanitize && mkdir -p build/sanitize && cp -r src/wayscore build/sanitize/
	rm -f build/sanitize/wayscore/kernels/*.so
	WAYSCORE_CFLAGS="$(SANITIZE)" $(BIN)/python setup.py --quiet build_ext --force \
		--build-lib build/sanitize --build-temp build/sanitize/temp
	PYTHONPATH=build/sanitize:. ASAN_OPTIONS=detect_leaks=0 \
		LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
		$(BIN)/python -m tests.twins $(or $(SHAPES),10000)

fuzz: .venv/dev  ## every reader and the kernels on damaged and random input, FUZZ_MINUTES=5 in all; files in build/fuzz
	$(PIP) atheris || echo "no atheris for this Python: hypothesis changes the inputs"
	$(MAKE) --no-print-directory sanitize SHAPES=100
	FUZZ_MINUTES=$(or $(FUZZ_MINUTES),5) $(BIN)/python -m tests.fuzz

docs: .venv/docs  ## this documentation as a site, in site/: pictures drawn, examples run, tables computed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "site/index.html"

schemas: .venv/base  ## the JSON Schemas in docs/schema, from the types in docs/building/schemas
	$(BIN)/python -m docs.building.schemas

wheel: .venv/release  ## the source distribution and, from it, the wheel, in dist/; and what the packaging tools say of both
	rm -rf build/lib* build/bdist* dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/abi3audit --strict --summary dist/*.whl
	test "$$(uname)" != Linux || PATH="$(BIN):$$PATH" $(BIN)/auditwheel show dist/*.whl
	$(BIN)/pyroma --min 10 .

sbom: .venv/release  ## sbom.json: the packages that a base install of the wheel brings, as CycloneDX
	rm -rf build/sbom && $(BIN)/python -m venv build/sbom
	build/sbom/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt .
	build/sbom/bin/python -m pip uninstall --quiet --yes pip setuptools
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
		--output-file sbom.json build/sbom/bin/python
	@echo sbom.json

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links --constraint constraints.txt
lock: .venv/release  ## requirements/: exact versions with hashes for all systems; of everything, and of what releases need
	$(LOCK) --group dev --group docs --group release --extra all pyproject.toml --output-file requirements/dev.txt
	$(LOCK) --group release --output-file requirements/release.txt

.venv/base: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --editable .
	touch $@

.venv/dev: .venv/base
	$(PIP) --group dev
	touch $@

.venv/release: .venv/base
	$(PIP) --group release
	touch $@

.venv/docs: .venv/base
	$(PIP) --group docs
	touch $@

clean:
	rm -rf .venv build dist site sbom.json src/*.egg-info src/wayscore/kernels/*.so
