#!/bin/sh
# Searches for cases that reveal the mutants of the laws, all or those that match a NAME. CONTRIBUTING.md, Pinned cases.
set -e
npm run build
exec node dist/test/support/mutants/pins.js "$@"
