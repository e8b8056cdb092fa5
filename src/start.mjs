#!/usr/bin/env -S node --
// Without the two dashes, Node takes --env-file for its own flag, and exits with 9 if the file does not exist.
// The installed program begins here (src/bundle.mjs copies it). Its syntax is old, and it imports nothing: an older Node
// must get as far as this sentence instead of stumbling over the syntax of a library.
var found = process.versions.node.split('.').map(Number)
if (found[0] < 20 || (found[0] === 20 && found[1] < 19)) {
  console.error(
    'shopsync: Found Node ' +
      process.versions.node +
      ', expected 20.19 or newer.\n' +
      'Install it from https://nodejs.org, or name another in PATH: ' +
      process.execPath +
      ' was started',
  )
  process.exit(3)
} else
  import('./entry.js').catch((error) => {
    // 1 would say that the command had come to its end.
    console.error(error)
    process.exit(70)
  })
