# On a Debian 12 with Python 3.11 and make, as root or not, two commands do everything:
#   make timeline   prints the decoded timeline of a capture that ships with the project
#   make test       runs every check there is
# `make help` lists the rest. Set PYTHON to use another interpreter, CAPTURE and SECRETS to read another capture.

PYTHON ?= python3
VENV ?= .venv
CAPTURE ?= captures/pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap
SECRETS ?= $(basename $(CAPTURE)).secrets.json
PYTEST_ARGS ?=
# The documents that the prose linter reads.
PLAIN := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md captures/README.md benchmarks/README.md ksy/README.md \
	$(addprefix docs/,architecture.md attacks.md case-file.md ci.md counter-types.md decisions.md dependencies.md export.md filters.md glossary.md output.md performance.md probe.md programs.md \
	readings.md reliability.md report.md rules.md scale.md testing.md traces.md tutorial.md wireshark.md)

BIN := $(VENV)/bin
SETUP := PYTHON='$(PYTHON)' VENV='$(VENV)' sh .ci/setup.sh

.DEFAULT_GOAL := help
.PHONY: help timeline test rig wine spark setup-package setup-tests lint pytest properties mutants coverage golden hostile faults fuzz package deb test-lowest buffers page site man constraints clean

help:
	@echo 'make timeline    print the timeline of $(notdir $(CAPTURE))'
	@echo 'make test        run every check (format, lint, types, imports, compiled specifications, plain words, tests)'
	@echo 'make lint        the checks that run no test'
	@echo 'make pytest      the tests alone; PYTEST_ARGS passes arguments on'
	@echo 'make properties  the properties with twenty times as many examples, random ones; PYTEST_ARGS passes arguments on'
	@echo 'make mutants     change the program in small ways and see whether tests notice; MUTANTS_ARGS passes arguments on'
	@echo 'make coverage    branch coverage by package'
	@echo 'make golden      write the files that output is compared with, and print what is different in tests/golden'
	@echo 'make hostile     measure what hostile captures cost; HOSTILE_ARGS passes arguments on'
	@echo 'make rig         hold conversations between all stacks in network namespaces and compare (root); RIG_ARGS passes arguments on'
	@echo 'make wine        run tools/windows/collect.py with the functions of Wine'
	@echo 'make spark       read a dataset of collect with Spark, which is installed for it; needs Java'
	@echo 'make package     build twice, compare, install the wheel elsewhere and use it; PACKAGES names a folder to leave it in'
	@echo 'make deb         build a Debian package in the folder above; needs debhelper and dh-virtualenv'
	@echo 'make test-lowest run the tests with the lowest versions that pyproject.toml allows'
	@echo 'make faults      let each operation of each command fail in turn; FAULTS_ARGS passes arguments on'
	@echo 'make fuzz        run the fuzz targets for a minute each; FUZZ_ARGS passes arguments on'
	@echo 'make buffers     compile ksy/ into analyzer/interfaces/buffers/_generated, and the Wireshark dissectors from it'
	@echo 'make page        build web/ into analyzer/screens/formats/page_assets'
	@echo 'make site        build the documentation as a site in build/site'
	@echo 'make man         write docs/pcq-analyzer.1 from the command line'
	@echo 'make constraints write the versions now installed to constraints.txt, and their hashes to requirements.lock'
	@echo 'make clean       remove what these targets made'

timeline: setup-package
	@$(BIN)/pcq-analyzer timeline '$(CAPTURE)' $(if $(wildcard $(SECRETS)),--secrets '$(SECRETS)')

test: setup-tests lint pytest
	@echo 'All checks passed.'

setup-package:
	@$(SETUP) package

setup-tests:
	@$(SETUP) tests

lint: setup-tests
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@sh .ci/with-compiler.sh $(BIN)/python ksy/compile.py --check
	@sh .ci/with-compiler.sh $(BIN)/python web/build.py --check
	$(BIN)/python -m wireshark.generate --check
	@mkdir -p build && $(BIN)/python -m tools.prose.help_texts > build/help.md
	@sh .ci/with-compiler.sh sh tools/prose/check.sh $(PLAIN) build/help.md
	@$(BIN)/python -m tools.prose.docstrings build/docstrings
	@PROSE_CONFIG=docstrings.config.js sh .ci/with-compiler.sh sh tools/prose/check.sh build/docstrings/*.md

# Tests start the program hundreds of times: where the environment says that nothing compiled is kept, each start compiles it again.
pytest: setup-tests
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n auto --dist worksteal $(PYTEST_ARGS)

properties: setup-tests
	env -u CI PCQ_PROPERTIES=20 $(BIN)/python -m pytest -m hypothesis -n auto --dist worksteal $(PYTEST_ARGS)

golden: setup-tests
	@$(BIN)/python -m tests.golden.cases
	@env PCQ_WRITE_PAGES=1 $(BIN)/python -m pytest -q -n 0 $$(grep -rl --include='test_*.py' -e is_as_written -e TOLD tests)

mutants: setup-tests
	$(BIN)/python -m tools.mutants $(MUTANTS_ARGS)

coverage: setup-tests
	$(BIN)/python -m coverage erase --rcfile=tools/coverage.toml
	env PCQ_PROPERTIES=0.1 $(BIN)/python -m coverage run --rcfile=tools/coverage.toml -m pytest -n auto --dist worksteal --ignore=tests/test_benchmarks.py $(PYTEST_ARGS)
	$(BIN)/python -m coverage combine --quiet --rcfile=tools/coverage.toml
	$(BIN)/python -m tools.coverage_by_package --rcfile=tools/coverage.toml

rig: setup-tests
	$(BIN)/python -m rig.run $(RIG_ARGS)

wine: setup-package
	@PYTHON='$(abspath $(BIN))/python' sh tools/windows/wine/run.sh

spark: setup-tests
	$(BIN)/python -m pip install --quiet 'pyspark>=4'
	$(BIN)/python -m pytest -p no:cacheprovider tests/collect/read_by_spark.py

hostile: setup-tests
	$(BIN)/python -m fuzz.hostile $(HOSTILE_ARGS)

package:
	@PYTHON='$(PYTHON)' sh .ci/package.sh $(PACKAGES)

deb:
	dpkg-buildpackage --build=binary --no-sign

test-lowest:
	@PYTHON='$(PYTHON)' VENV='$(VENV)' sh .ci/lowest.sh $(PYTEST_ARGS)

faults: setup-tests
	$(BIN)/python -m tests.faults.run $(FAULTS_ARGS)

fuzz: setup-tests
	$(BIN)/python -m fuzz.run $(FUZZ_ARGS)

buffers: setup-tests
	@sh .ci/with-compiler.sh $(BIN)/python ksy/compile.py
	$(BIN)/python -m wireshark.generate

page: setup-tests
	@sh .ci/with-compiler.sh $(BIN)/python web/build.py

site: setup-tests
	$(BIN)/python tools/site.py

man: setup-package
	$(BIN)/pcq-analyzer docs man -o docs/pcq-analyzer.1 --force

constraints: setup-tests
	@sh .ci/constraints.sh '$(BIN)'

clean:
	rm -rf '$(VENV)' ksy/node_modules web/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
