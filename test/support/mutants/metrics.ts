/** Metrics and traces (docs/operations.md, Metrics and Traces): one function of them is broken at a time. */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const trace = breaking(() => import('../../../src/engine/base/trace.js'))
const counters = breaking(() => import('../../../src/engine/warehouse/counters.js'))
const gauges = breaking(() => import('../../../src/features/health/gauges.js'))
const textfile = breaking(() => import('../../../src/features/health/textfile.js'))

export const metrics = mutants([
  [
    'totals cover the whole life of the warehouse',
    'adds nothing to the totals of earlier runs',
    counters.function('addToCounters', () => () => []),
    'test/features/telemetry/metrics.test.ts: totals continue in the next process',
  ],
  [
    'gauges show the current state, and nothing about customers',
    'reads gauges only once',
    gauges.function('readGauges', (sound) => {
      let read: ReturnType<typeof sound> | undefined
      return (options) => {
        read ??= sound(options)
        return read
      }
    }),
    'test/features/telemetry/metrics.test.ts: show states as status does',
  ],
  [
    'the textfile is complete, and never a reason to fail',
    'writes into the file while others read it',
    textfile.function(
      'writeTextfile',
      () => (named, text, folder) => writeFile(resolve(folder, named), text),
    ),
    'test/features/telemetry/metricscommand.test.ts: is written after each run',
  ],
  [
    'a trace shows what a run did, and nothing about customers',
    'ends before the spans are sent',
    trace.function('flushSpans', () => async () => {}),
    'test/engine/run/trace.test.ts: a run is one trace',
  ],
])
