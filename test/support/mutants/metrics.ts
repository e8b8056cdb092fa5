/** Metrics and traces (docs/operations.md, Metrics and Traces): one function of them is broken at a time. */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type * as trace from '../../../src/engine/base/trace.js'
import type * as counters from '../../../src/engine/warehouse/counters.js'
import type * as gauges from '../../../src/features/health/gauges.js'
import type * as textfile from '../../../src/features/health/textfile.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

export const metrics: readonly Promised[] = [
  {
    promise: 'totals cover the whole life of the warehouse',
    broken: 'adds nothing to the totals of earlier runs',
    breakage: breaking<typeof counters>('src/engine/warehouse/counters.ts').function(
      'addToCounters',
      () => () => [],
    ),
    test: 'test/features/telemetry/metrics.test.ts',
    name: 'totals continue in the next process',
    on: both,
  },
  {
    promise: 'gauges show the current state, and nothing about customers',
    broken: 'reads gauges only once',
    breakage: breaking<typeof gauges>('src/features/health/gauges.ts').function('readGauges', (sound) => {
      let read: ReturnType<typeof sound> | undefined
      return (options) => {
        read ??= sound(options)
        return read
      }
    }),
    test: 'test/features/telemetry/metrics.test.ts',
    name: 'show states as status does',
    on: both,
  },
  {
    promise: 'the textfile is complete, and never a reason to fail',
    broken: 'writes into the file while others read it',
    breakage: breaking<typeof textfile>('src/features/health/textfile.ts').function(
      'writeTextfile',
      () => (named, text, folder) => writeFile(resolve(folder, named), text),
    ),
    test: 'test/features/telemetry/metricscommand.test.ts',
    name: 'is written after each run',
    on: [],
  },
  {
    promise: 'a trace shows what a run did, and nothing about customers',
    broken: 'ends before the spans are sent',
    breakage: breaking<typeof trace>('src/engine/base/trace.ts').function('flushSpans', () => async () => {}),
    test: 'test/engine/run/trace.test.ts',
    name: 'a run is one trace',
    on: [],
  },
]
