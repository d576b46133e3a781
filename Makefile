PORT ?= 8000
export PORT
PYTHON := .venv/bin/python
# Compiled files are kept, whatever the shell says: compiling them takes each process seconds.
export PYTHONDONTWRITEBYTECODE :=
WITH_ROWS := tests/archive tests/files tests/jobs tests/services tests/web tests/webapp

.PHONY: run check check-pages lock test test-fast test-long test-postgres classes coverage bench clean

run: .venv/run.stamp
	@$(PYTHON) -m webapp.launch

# All but the long tests, on SQLite, then on PostgreSQL half of the quick tests with rows, which are
# left out before. Three processes keep two cores busy, because many tests wait for others. At most
# three tests that failed are run once more, alone, and named (tests/once_more.py).
test: .venv/test.stamp classes
	@$(PYTHON) -m webapp.machine java chromium node postgres
	@$(PYTHON) -m tests.once_more --numprocesses 3 --no-loadscope-reorder --durations=20 --half -m "not long"
	@FAST_TESTS=yes TEST_DATABASE=postgres $(PYTHON) -m tests.once_more --numprocesses 3 $(WITH_ROWS) --half

# An archive of Spark's classes, with which Spark starts faster. A machine makes it once.
classes: .venv/test.stamp
	@$(PYTHON) -m webapp.machine java
	@$(PYTHON) -m tasks.spark.make_classes

# The lines that the quick tests with rows do not run, in artifacts/coverage.txt.
coverage: .venv/test.stamp
	@mkdir -p artifacts
	@FAST_TESTS=yes $(PYTHON) -m pytest --numprocesses 2 $(WITH_ROWS) \
		-m "not spark and not browser and not slow and not long" --cov --cov-report=
	@$(PYTHON) -m coverage report --show-missing > artifacts/coverage.txt
	@tail -1 artifacts/coverage.txt

# What takes minutes: all cases of which make test runs one of each kind, strikes on everything,
# Spark servers that are killed or frozen, a cluster. Then generated tests with all examples.
test-long: .venv/test.stamp
	@$(PYTHON) -m webapp.machine java
	@$(PYTHON) -m pytest -m long
	@THOROUGH_TESTS=yes $(PYTHON) -m pytest --numprocesses 2 -m "hypothesis and not long"

test-fast: .venv/test.stamp
	@FAST_TESTS=yes $(PYTHON) -m pytest --numprocesses 2 \
		--ignore=tests/browser -m "not spark and not browser and not slow and not long"

# All tests that touch rows, on a PostgreSQL server that the tests start.
test-postgres: .venv/test.stamp
	@$(PYTHON) -m webapp.machine java chromium node postgres
	@TEST_DATABASE=postgres $(PYTHON) -m pytest --numprocesses 2 --no-loadscope-reorder $(WITH_ROWS)

# Style, the import contract and types, the pages, and the dependencies: in about a minute.
check: .venv/test.stamp
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@.venv/bin/lint-imports --no-cache
	@$(PYTHON) -m mypy
	@$(MAKE) --no-print-directory check-pages
	@$(PYTHON) -m tests.supply

# The types and unused names of the JavaScript, and the templates.
check-pages: .venv/test.stamp
	@$(PYTHON) -m webapp.machine typescript
	@tsc --project tests/js
	@$(PYTHON) -m djlint templates --lint --quiet --rules tests/web/pages/djlint_rules.yaml

# After a change of requirements: the locks, what is installed, the page and the bill of materials.
lock:
	@test -x .venv/bin/uv || webapp/venv.sh lock
	@$(PYTHON) -m tests.supply.lock
	@$(MAKE) --no-print-directory .venv/test.stamp
	@$(PYTHON) -m tests.supply write

bench: .venv/test.stamp classes
	@$(PYTHON) -m webapp.machine java chromium
	@$(PYTHON) -m bench

# What can be made again; the data in var stay.
clean:
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis artifacts .spark-classes
	@find . -name __pycache__ -not -path './var/*' -prune -exec rm -rf {} +

LOCKED := requirements.txt deploy/requirements.lock

.venv/run.stamp: $(LOCKED)
	@webapp/venv.sh requirements.txt
	@touch $@

.venv/test.stamp: $(LOCKED) tests/requirements.txt tests/requirements.lock
	@webapp/venv.sh tests/requirements.txt
	@touch .venv/run.stamp $@
