import type { Command } from '../command.js'
import { adoptCommand } from './adopt.js'
import { backfillCommand } from './backfill.js'
import { checkCommand } from './check.js'
import { completionCommand } from './completion.js'
import { copyCommand } from './copy.js'
import { demoCommand } from './demo.js'
import { dictionaryCommand } from './dictionary.js'
import { forgetCommand } from './forget.js'
import { initCommand } from './init.js'
import { jobsCommand } from './jobs.js'
import { migrateCommand } from './migrate.js'
import { planCommand } from './plan.js'
import { quarantineCommand } from './quarantine.js'
import { reconcileCommand } from './reconcile.js'
import { reportCommand } from './report.js'
import { runCommand } from './run.js'
import { runsCommand } from './runs.js'
import { sandboxCommand } from './sandbox.js'
import { scheduleCommand } from './schedule.js'
import { snapshotCommand } from './snapshot.js'
import { statusCommand } from './status.js'
import { syncCommand } from './sync.js'
import { verifyCommand } from './verify.js'
import { whyCommand } from './why.js'

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  initCommand,
  syncCommand,
  reconcileCommand,
  verifyCommand,
  backfillCommand,
  planCommand,
  whyCommand,
  statusCommand,
  runsCommand,
  checkCommand,
  migrateCommand,
  runCommand,
  scheduleCommand,
  jobsCommand,
  snapshotCommand,
  quarantineCommand,
  forgetCommand,
  adoptCommand,
  copyCommand,
  reportCommand,
  dictionaryCommand,
  sandboxCommand,
  demoCommand,
  completionCommand(() => commands),
]
