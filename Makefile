# make up      run the systems on ./data, with demo     make test       everything but the slow tier
#              data (DATA=folder PORT=number)
# make check   format, lint and types                   make test-slow  the slow tier alone, and all
#                                                                       examples of the properties
# make format  rewrite the sources in the house format  make bench      docs/benchmarks.md (PART=http: one part)
# make docs    docs/systems and docs/roles.md            make requirements   docs/requirements.md, from the tests
# make site    the documentation site, in ./site        make coverage   the tests, and which lines they reach
# make screenshots   the pictures in docs/images
# make dist    sdist and wheel, in ./dist               make generate   the synchronous store, from the asynchronous
#
# One virtual environment with a stamp for each part: `up` needs the systems' dependencies only, `site` those of the site,
# the rest needs the development tools, and tests a browser too. A stamp is renewed when pyproject.toml changes, so a second
# call installs nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed
BROWSER := $(VENV)/.browser-installed
SITE := $(VENV)/.site-installed
PIP := $(BIN)/python -m pip install --disable-pip-version-check
# One more than there are cores at least: a fifth of the time a test waits, for a disk, a process or a lease.
WORKERS ?= 3
DATA ?= ./data
PORT ?= 8080
PART ?=
TESTS ?=
SYSTEMS := $(patsubst src/tablewright/systems/%/model.py,tablewright.systems.%,$(wildcard src/tablewright/systems/*/model.py))

# The tests start a hundred interpreters: they read bytecode instead of compiling the sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: up test test-slow screenshots check coverage format docs requirements generate site dist bench clean
.DELETE_ON_ERROR:

# In the environment, for the shell to hand on as they are, quotes included.
up: export DATA := $(DATA)
up: export PORT := $(PORT)
up: $(RUNTIME)
	$(BIN)/tablewright up --demo --data "$$DATA" --port "$$PORT"

test: check $(BROWSER)
	$(BIN)/pytest --strict-config -n $(WORKERS) --dist worksteal

test-slow: $(DEV) $(BROWSER)
	THOROUGH_TESTS=1 $(BIN)/pytest -m 'slow or hypothesis' --timeout 3600 -n $(WORKERS) --dist worksteal

# Branches are followed, also in processes that tests start; that makes the tests slower, so they may take longer.
coverage: $(DEV) $(BROWSER)
	$(BIN)/pytest -n $(WORKERS) --timeout 600 --cov --cov-report=term --cov-report=xml --cov-report=html $(TESTS)

# The pictures of the documentation, made of the demo in a browser.
screenshots: $(DEV) $(BROWSER)
	WRITE_SCREENSHOTS=1 $(BIN)/pytest -m slow tests/ui/test_screenshots.py tests/studio/test_studio_pictures.py

check: $(DEV)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy --num-workers 2

format: $(DEV)
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

docs: $(DEV)
	$(BIN)/tablewright docs $(SYSTEMS) --out docs/systems
	$(BIN)/python -m tools.roles_page
	$(BIN)/python -m tools.deploy_costs

requirements: $(DEV)
	$(BIN)/python tools/requirements.py

site: $(SITE)
	$(BIN)/mkdocs build --strict --quiet

dist: $(DEV)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

generate: $(DEV)
	$(BIN)/python tools/generate_sync.py

bench: $(DEV) $(BROWSER)
	$(BIN)/python -m benchmarks $(PART)

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis .bench-cache
	find src tests benchmarks examples tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo 'Tablewright needs Python 3.11 or newer, and $(PYTHON) is not: try make PYTHON=python3.12' >&2; exit 1; }
	@echo 'Creating the virtual environment $(VENV)'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(RUNTIME): pyproject.toml | $(BIN)/python
	@echo 'Installing Tablewright with its systems into $(VENV): once, and when pyproject.toml changes'
	@$(PIP) --editable '.[apps]'
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	@echo 'Installing Tablewright with its development tools into $(VENV): once, and when pyproject.toml changes'
	@$(PIP) --editable '.[dev]'
	@touch $@ $(RUNTIME)

# Screens are tested in Chromium: the one that is there, or Debian's where one is root, or Playwright's own. Without any,
# the tests that need it say so and are skipped, but CI goes no further.
$(BROWSER): $(DEV)
	@if command -v chromium || command -v chromium-browser; then touch $@; exit 0; fi >/dev/null; \
	echo 'Installing Chromium for the tests of screens: once'; \
	if [ "$$(id -u)" = 0 ] && grep -qs '^ID=debian' /etc/os-release; then \
		apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy chromium; \
	else \
		$(BIN)/playwright install chromium; \
	fi >$(VENV)/browser.log 2>&1 && touch $@ || { \
		echo 'Chromium could not be installed, as $(VENV)/browser.log says: tests of screens will be skipped' >&2; \
		[ -z "$$CI" ]; }

$(SITE): pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[site]'
	@touch $@
