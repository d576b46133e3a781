PORT ?= 8000
export PORT
PYTHON := .venv/bin/python
# Compiled files are kept, whatever the shell says: compiling them takes each process seconds.
export PYTHONDONTWRITEBYTECODE :=
WITH_ROWS := tests/archive tests/files tests/jobs tests/services tests/web tests/webapp

.PHONY: run check check-pages test test-fast test-long test-postgres bench clean

run: .venv/run.stamp
	@$(PYTHON) -m webapp.launch

# Everything on SQLite, then the quick tests that touch rows once more on PostgreSQL. Three processes
# keep two cores busy, because many tests wait for others. Coverage slows tests by more than a tenth,
# so it is of the second half alone; the lines not run are in artifacts/coverage.txt.
test: .venv/test.stamp
	@$(PYTHON) -m webapp.machine java chromium node postgres
	@$(PYTHON) -m pytest --numprocesses 3 --no-loadscope-reorder --durations=20 -m "not long"
	@mkdir -p artifacts
	@FAST_TESTS=yes TEST_DATABASE=postgres $(PYTHON) -m pytest --numprocesses 3 $(WITH_ROWS) \
		-m "not spark and not browser and not slow" --cov --cov-report=
	@$(PYTHON) -m coverage report --show-missing > artifacts/coverage.txt
	@tail -1 artifacts/coverage.txt

# What takes minutes: strikes on everything, Spark servers that are killed or frozen, a cluster.
test-long: .venv/test.stamp
	@$(PYTHON) -m webapp.machine java
	@$(PYTHON) -m pytest -m long

test-fast: .venv/test.stamp
	@FAST_TESTS=yes $(PYTHON) -m pytest --numprocesses 2 \
		--ignore=tests/browser -m "not spark and not browser and not slow"

# All tests that touch rows, on a PostgreSQL server that the tests start.
test-postgres: .venv/test.stamp
	@$(PYTHON) -m webapp.machine java chromium node postgres
	@TEST_DATABASE=postgres $(PYTHON) -m pytest --numprocesses 2 --no-loadscope-reorder $(WITH_ROWS)

# Style, the import contract and types, and the pages: in about a minute.
check: .venv/test.stamp
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@.venv/bin/lint-imports --no-cache
	@$(PYTHON) -m mypy
	@$(MAKE) --no-print-directory check-pages

# The types and unused names of the JavaScript, and the templates.
check-pages: .venv/test.stamp
	@$(PYTHON) -m webapp.machine typescript
	@tsc --project tests/js
	@$(PYTHON) -m djlint templates --lint --quiet --rules tests/web/pages/djlint_rules.yaml

bench: .venv/test.stamp
	@$(PYTHON) -m webapp.machine java chromium
	@$(PYTHON) -m bench

# What can be made again; the data in var stay.
clean:
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis artifacts
	@find . -name __pycache__ -not -path './var/*' -prune -exec rm -rf {} +

.venv/run.stamp: requirements.txt
	@webapp/venv.sh requirements.txt
	@touch $@

.venv/test.stamp: requirements.txt tests/requirements.txt
	@webapp/venv.sh tests/requirements.txt
	@touch .venv/run.stamp $@
