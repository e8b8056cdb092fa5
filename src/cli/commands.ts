import { check } from './check.js'
import type { Command } from './command.js'
import { demo } from './demo.js'
import { dictionary } from './dictionary.js'
import { migrate } from './migrate.js'
import { quarantine } from './quarantine.js'
import { run } from './run.js'
import { sandbox } from './sandbox.js'
import { status } from './status.js'
import { sync } from './sync.js'

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  sync,
  status,
  check,
  migrate,
  run,
  quarantine,
  dictionary,
  sandbox,
  demo,
]
