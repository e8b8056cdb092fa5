import { adoptCommand } from './features/adopt/command.js'
import { analytics } from './features/analytics/feature.js'
import { backfill } from './features/backfill/command.js'
import { checkCommand } from './features/check/command.js'
import { completionCommand } from './features/completion/command.js'
import { copyCommand } from './features/copy/command.js'
import { demoCommand } from './features/demo/command.js'
import { dictionaryCommand } from './features/dictionary/command.js'
import { events } from './features/events/command.js'
import { listen } from './features/events/listencommand.js'
import { forgetCommand } from './features/forget/command.js'
import { grants, listGrants, revoke } from './features/grants/command.js'
import { alerts, metrics, status } from './features/health/command.js'
import { initCommand } from './features/init/command.js'
import { jobs } from './features/jobs/command.js'
import { runCommand } from './features/jobs/runcommand.js'
import { migrateCommand } from './features/migrate/command.js'
import { plan } from './features/plan/command.js'
import { quarantineCommand } from './features/quarantine/command.js'
import { reconcile, verify } from './features/reconcile/command.js'
import { report } from './features/report/command.js'
import { runsCommand } from './features/runs/command.js'
import { sandboxCommand } from './features/sandbox/command.js'
import { schedule } from './features/schedule/command.js'
import { snapshot } from './features/snapshot/command.js'
import { sync } from './features/sync/command.js'
import { polling, targets } from './features/targets/feature.js'
import { following, followingEvery } from './features/then/feature.js'
import { whyCommand } from './features/why/command.js'
import { worker, workers } from './features/worker/command.js'
import type { Feature } from './shell/command.js'

/** Every feature, in the order in which the help lists the commands of a group. */
export const features: readonly Feature[] = [
  { command: initCommand },
  sync,
  reconcile,
  verify,
  backfill,
  plan,
  { command: whyCommand },
  status,
  { command: runsCommand },
  { command: checkCommand },
  { command: migrateCommand },
  following,
  followingEvery,
  alerts,
  analytics,
  { command: runCommand },
  schedule,
  worker,
  listen,
  jobs,
  workers,
  events,
  targets,
  polling,
  metrics,
  snapshot,
  { command: quarantineCommand },
  grants,
  revoke,
  listGrants,
  { command: forgetCommand },
  { command: copyCommand },
  { command: adoptCommand },
  report,
  { command: dictionaryCommand },
  { command: demoCommand },
  { command: sandboxCommand },
  { command: completionCommand },
]
