# `make demo` and `make test` need nothing but Python 3.11 to 3.13 with its venv module.
PYTHON ?= python3
VENV := .venv
TESTS ?= not slow
SELECT ?= slow
DRILL ?=
FUZZ ?=
SCHEDULES ?= 10000
LOAD ?=
# Processes that the tests run in, one more than the cores of a small machine, as tests of searches wait; files are not
# split, and the long ones come first.
WORKERS ?= 3

.DEFAULT_GOAL := help
.PHONY: digests fuzz help install docs-tools demo test slow lint format messages docs bench drills load prior sbom lock clean

help:
	@echo 'make demo     install, then search a model for a bundled cohort over the REST API'
	@echo 'make test     install, then run the tests; on PostgreSQL too where AUTOPROG_TEST_POSTGRES names a server'
	@echo 'make slow     the tests that take minutes; SELECT="slow and ci" for the part that CI runs'
	@echo 'make lint     ruff, import-linter, numpydoc, the schemas of YAML files, mypy'
	@echo 'make format   let ruff rewrite what it can'
	@echo 'make messages bring the catalogues of the pages in step with the texts in the source'
	@echo 'make docs     the documentation as a site, with the notebooks executed; fails at a warning'
	@echo 'make bench    the benchmarks; each writes its figures to benchmarks/results'
	@echo 'make drills   long proofs: generated requests to everything that is documented, faults under load, a backup under'
	@echo '              load and its restoration; on PostgreSQL too where AUTOPROG_TEST_POSTGRES names a server;'
	@echo '              DRILL="--times 20" repeats the faults, SCHEDULES=1000000 simulates leases for a night;'
	@echo '              python -m tests.drills.repeated FOLDER repeats the faults side by side, and goes on where it stopped'
	@echo 'make fuzz     inputs that coverage guides, for everything that reads uploads; minutes. FUZZ="--inputs 2000000" for more'
	@echo 'make load     predictions, polls and event streams for ten minutes, on the PostgreSQL that AUTOPROG_TEST_POSTGRES'
	@echo '              names; LOAD="--minutes 1" for another time'
	@echo 'make prior    make the shipped prior again, minutes; fails unless it is the same byte for byte'
	@echo 'make sbom     list every installed package, its version and licence in build/sbom.json (CycloneDX)'
	@echo 'make lock     write every requirements.lock, and the locks of the image, anew from pyproject.toml'
	@echo 'make digests  name the images in Dockerfile and docker-compose.yml by the digests that the registry has now'
	@echo 'make clean    remove the environment and the caches'

install: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml hatch_build.py autoprog/diagnosis/kernel.c
	@$(PYTHON) -c 'import sys; (3, 11) <= sys.version_info < (3, 14) or sys.exit("Python 3.11 to 3.13 is needed, \
	this is " + sys.version.split()[0] + ": make PYTHON=... names another")'
	@test -x $(VENV)/bin/pip || $(PYTHON) -m venv $(VENV)
	@echo 'Installing into $(VENV): one to a few minutes'
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check -r requirements.lock -e '.[dev]'
	@$(VENV)/bin/python -m compileall -q autoprog api migrations
	@touch $@

demo: install
	@$(VENV)/bin/autoprog demo

# A process that may not keep its bytecode compiles some 500 files at every start, of which the tests have hundreds.
test slow: export PYTHONDONTWRITEBYTECODE :=

test: install
	$(VENV)/bin/pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m '$(TESTS)' --durations=25

slow: install
	$(VENV)/bin/pytest -q -n $(WORKERS) --dist loadfile -m '$(SELECT)' --durations=25

lint: install
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/lint-imports
	$(VENV)/bin/numpydoc lint $$(find autoprog -name '*.py')
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	$(VENV)/bin/mypy

format: install
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

# Neither dates nor lines: a catalogue changes when a text does.
messages: install
	@mkdir -p build
	@$(VENV)/bin/pybabel -q extract -F pyproject.toml -k text --add-location=file --omit-header --no-wrap -o build/autoprog.pot api/pages
	@$(VENV)/bin/python -m tools.service_texts build/services.pot
	@for domain in autoprog services; do \
		$(VENV)/bin/pybabel -q update -i build/$$domain.pot -D $$domain -d api/pages/locale \
			--no-fuzzy-matching --ignore-obsolete --omit-header --no-wrap || exit 1; \
	done

docs-tools: install
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check -r docs/requirements.lock

docs: docs-tools
	$(VENV)/bin/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

bench: install
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check -r benchmarks/requirements.lock
	@mkdir -p benchmarks/results
	@for file in $$(grep -l __main__ benchmarks/*.py) $$(dirname benchmarks/*/__main__.py); do \
		name=$$(basename $$file .py); result=benchmarks/results/$$name.json; \
		$(VENV)/bin/python -m benchmarks.$$name > $$result.part && mv $$result.part $$result && echo $$result && cat $$result || exit 1; \
	done

# A tool of its own environment, as it must not be among what it lists.
sbom: install
	@test -x build/sbom/bin/cyclonedx-py || { $(PYTHON) -m venv build/sbom && \
		build/sbom/bin/python -m pip install -qq --disable-pip-version-check 'cyclonedx-bom>=7.5,<8'; }
	@build/sbom/bin/cyclonedx-py environment --pyproject pyproject.toml --of JSON -o build/sbom.json $(VENV)/bin/python
	@echo 'wrote build/sbom.json'

# Schemathesis has an environment of its own, as it asks for other versions of the tests' libraries.
drills: install
	@test -x build/drills/bin/st || { $(PYTHON) -m venv build/drills && \
		build/drills/bin/python -m pip install -qq --disable-pip-version-check 'schemathesis>=4.32,<5'; }
	$(VENV)/bin/python -m tests.drills.contract build/drills/bin/st
	$(VENV)/bin/python -m tests.drills.faults $(DRILL)
	$(VENV)/bin/python -m tests.drills.restore
	$(VENV)/bin/python -m tests.drills.leases --schedules $(SCHEDULES)
	$(VENV)/bin/python -m tests.drills.leases --schedules 400 --faults
	@! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
		$(VENV)/bin/python -m tests.drills.faults --own-postgres $(DRILL)
	@test -z "$$AUTOPROG_TEST_POSTGRES" || { \
		$(VENV)/bin/python -m tests.drills.faults --postgres "$$AUTOPROG_TEST_POSTGRES" $(DRILL) && \
		$(VENV)/bin/python -m tests.drills.faults --cluster "$$AUTOPROG_TEST_POSTGRES" $(DRILL) && \
		{ ! unshare --net true 2>/dev/null || ! command -v ip >/dev/null || \
			$(VENV)/bin/python -m tests.drills.faults --network "$$AUTOPROG_TEST_POSTGRES" $(DRILL); } && \
		$(VENV)/bin/python -m tests.drills.upgrade --postgres "$$AUTOPROG_TEST_POSTGRES" && \
		$(VENV)/bin/python -m tests.drills.restore --postgres "$$AUTOPROG_TEST_POSTGRES"; }

# Only this needs atheris, which is no extra, as extras are locked for every platform and it has wheels for few.
fuzz: install
	@test -d build/fuzz/atheris || $(VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-deps \
		--target build/fuzz/atheris 'atheris>=3.0,<4'
	PYTHONPATH=build/fuzz/atheris $(VENV)/bin/python -m tests.drills.fuzz $(FUZZ)
	$(VENV)/bin/python -m tests.drills.damaged

load: install
	$(VENV)/bin/python -m tests.drills.load --postgres "$$AUTOPROG_TEST_POSTGRES" $(LOAD)

prior: install
	$(VENV)/bin/python -m training.prior

# torch's CPU build calls itself 2.x+cpu: without the label the line also fits platforms that have one build only.
PORTABLE := sed -E "s/^(torch==[^+]+)\+.*/\1/; \
	s/^xgboost-cpu==(.*)/xgboost==\1; platform_system=='Darwin' or platform_machine!='x86_64'\nxgboost-cpu==\1; platform_system!='Darwin' and platform_machine=='x86_64'/"

lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	build/lock/bin/python -m pip freeze --exclude-editable | $(PORTABLE) > requirements.lock
	build/lock/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev,docs]'
	build/lock/bin/python -m pip freeze --exclude-editable | $(PORTABLE) | grep -vxFf requirements.lock > docs/requirements.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install -qq --disable-pip-version-check -r requirements.lock -e '.[dev,bench]'
	build/lock/bin/python -m pip freeze --exclude-editable | $(PORTABLE) | grep -vxFf requirements.lock > benchmarks/requirements.lock
	build/lock/bin/python -m pip install -qq --disable-pip-version-check 'uv>=0.13,<0.14'
	build/lock/bin/python -m tools.image_locks build/lock/bin/uv
	rm -rf build/lock

digests: install
	$(VENV)/bin/python -m tools.image_digests

clean:
	rm -rf $(VENV) build dist docs/_build docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
