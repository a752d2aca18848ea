# make setup   create .venv and install the locked versions
# make run     set up, load the first corpora into the working directory, open the app
# make quick   set up with the test tools, run every rule once: no PyTorch, no Streamlit, no server
# make test    the same with every test, those in a browser and on PostgreSQL included
# make soak    the long forms of tests: hours of killed processes, histories and examples
# make check   set up with the test tools, run linters and type checks
# make docs    set up with the test tools, build the documentation site in build/docs
# make wording write the snapshots of what the pages say again, after a change of wording
# make images  take the pictures of the README and the guides again (trains for some minutes)
# make lock    write the versions that .venv has now to constraints.txt (after upgrading some)
#
# PYTHON=...   interpreter that .venv is made with (otherwise python3.11, else python3)
# PORT=...     port of the app (otherwise 8501)
# EXTRAS=...   extras to install as well: bench,llm,postgres,signin (with commas, without spaces)
# PART=...     part of make soak: kills, processes, wheel, pictures or histories (otherwise all)

SHELL := /bin/sh
.SUFFIXES:
# The tests start hundreds of processes, and each would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Both are touched when an installation has come to its end, and are older than the files that
# name the versions when there is something to install.
INSTALLED := $(VENV)/.installed$(if $(EXTRAS),-$(EXTRAS))
INSTALLED_TEST := $(VENV)/.installed-test

define make_venv
new_enough() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
if ! { new_enough $(BIN)/python && $(BIN)/python -c 'import pip' 2>/dev/null; }; then \
	for python in $(or $(PYTHON),python3.11 python3); do \
		new_enough "$$python" && break; \
		python=; \
	done; \
	if [ -z "$$python" ]; then \
		echo "Hedgerow needs Python 3.11 or newer and found none as $(or $(PYTHON),python3.11 or python3): install it, or name one with 'make setup PYTHON=/path/to/python3'." >&2; \
		exit 1; \
	fi; \
	"$$python" -m venv --clear $(VENV); \
fi
endef

.PHONY: setup
setup: $(INSTALLED)

.PHONY: setup-test
setup-test: $(INSTALLED_TEST)

$(INSTALLED): pyproject.toml constraints.txt
	@$(make_venv)
	$(PIP) install -c constraints.txt -e '.$(if $(EXTRAS),[$(EXTRAS)])'
	@touch $@

$(INSTALLED_TEST): pyproject.toml constraints.txt
	@$(make_venv)
	$(PIP) install -c constraints.txt -e '.[test]'
	@touch $(INSTALLED) $@

.PHONY: run
run: setup
	@$(BIN)/hedgerow init
	@exec $(BIN)/hedgerow app $(if $(PORT),--port $(PORT))

.PHONY: quick
quick: setup-test
	$(BIN)/pytest -n 2 --quick

.PHONY: test
test: setup-test
	$(BIN)/pytest -n 4 --no-loadscope-reorder

.PHONY: soak
soak: setup-test
	$(BIN)/pytest -n 2 --soak $(or $(PART),all)

.PHONY: wording
wording: setup-test
	rm -f tests/pages/wording/*.txt
	$(BIN)/pytest -q --renew-wording tests/pages

.PHONY: check
check: setup-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

.PHONY: docs
docs: setup-test
	$(BIN)/python -m docs.site

.PHONY: images
images: setup-test
	$(BIN)/python docs/make_images.py

.PHONY: lock
lock: setup-test
	sed '/^[^#]/d' constraints.txt > $(VENV)/constraints.txt
	$(PIP) freeze --all --exclude pip --exclude-editable | sed 's/+.*//' >> $(VENV)/constraints.txt
	mv $(VENV)/constraints.txt constraints.txt
