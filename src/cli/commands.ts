import { backfill } from './backfill.js'
import { check } from './check.js'
import type { Command } from './command.js'
import { demo } from './demo.js'
import { dictionary } from './dictionary.js'
import { forget } from './forget.js'
import { migrate } from './migrate.js'
import { plan } from './plan.js'
import { quarantine } from './quarantine.js'
import { reconcile } from './reconcile.js'
import { run } from './run.js'
import { sandbox } from './sandbox.js'
import { status } from './status.js'
import { sync } from './sync.js'
import { verify } from './verify.js'
import { why } from './why.js'

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  sync,
  reconcile,
  verify,
  backfill,
  plan,
  why,
  status,
  check,
  migrate,
  run,
  quarantine,
  forget,
  dictionary,
  sandbox,
  demo,
]
