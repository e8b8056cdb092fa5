/**
 * Rounds of `shopsync sync --due`, one after the other in this process, as `shopsync schedule` has them. Arguments: the
 * folder of the configuration, and how many rounds. Prints one line of JSON per round. Started by bench/due.ts.
 */
import { Readable, Writable } from 'node:stream'
import type { ChooseRound } from '../../src/engine/run/chosenround.js'
import type { RunReport } from '../../src/engine/run/runreport.js'
import { beginSync } from '../../src/features/sync/work.js'
import { syncRound } from '../../src/features/targets/due.js'
import { features } from '../../src/main.js'
import { call } from '../../src/shell/call.js'
import { collectAt } from '../../src/shell/collectat.js'
import type { Command } from '../../src/shell/command.js'
import { runOnce } from '../../src/shell/execute.js'
import type { Io } from '../../src/shell/io.js'

/** The cost of one round. */
export interface RoundInRow {
  readonly polls: number
  readonly requests: number
  /** Choosing the lists: elapsed and processor time. Then the same for the whole run. */
  readonly choosing: number
  readonly choosingCpu: number
  readonly seconds: number
  /** Resident memory after the round, and the most so far. */
  readonly megabytes: number
  readonly peak: number
  readonly status: string
}

const [folder = '', rounds = '1'] = process.argv.slice(2)
let [choosing, choosingCpu] = [0, 0]

const timed =
  (choose: ChooseRound): ChooseRound =>
  async (run, granted, done) => {
    const [start, before] = [performance.now(), process.cpuUsage()]
    const chosen = await choose(run, granted, done)
    choosing = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(before)
    choosingCpu = (user + system) / 1e6
    return chosen
  }

/** The first step of the shipped job `due`: it leaves requests for the checks of deletions. */
const run: Command['run'] = (invocation) =>
  runOnce(invocation, (context) => ({
    mode: 'sync',
    begin: beginSync({ mode: 'sync' }),
    round: timed(syncRound(context, context.choice, { isBeforeChecks: true })),
  }))

const withTimes = features.map((feature) =>
  feature.command?.name === 'sync' ? { ...feature, command: { ...feature.command, run } } : feature,
)

let text = ''
const io: Io = {
  environment: process.env,
  workingDirectory: folder,
  stdin: Readable.from([]),
  stdout: new Writable({
    write: (chunk, _encoding, done) => {
      text += String(chunk)
      done()
    },
  }),
  stderr: process.stderr,
  onSignal: () => () => {},
  interrupt: () => {},
  exit: (exitCode) => process.exit(exitCode),
  started: { node: process.execPath, program: '' },
  collectAt,
}

for (let round = 0; round < Number(rounds); round++) {
  text = ''
  const start = performance.now()
  await call(withTimes, ['sync', '--due', '--time-limit', 'PT1M', '--json', '--quiet'], io)
  const seconds = (performance.now() - start) / 1000
  const { cursors, requests, status } = JSON.parse(text) as RunReport
  const taken: RoundInRow = {
    polls: cursors.length,
    requests,
    choosing,
    choosingCpu,
    seconds,
    status,
    megabytes: process.memoryUsage().rss / 2 ** 20,
    peak: process.resourceUsage().maxRSS / 1024,
  }
  process.stdout.write(`${JSON.stringify(taken)}\n`)
}
