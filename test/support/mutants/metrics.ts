/** Metrics and traces (docs/operations.md, Metrics and Traces): one function of them is broken at a time. */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { WarehouseGauges } from '../../../src/features/health/gauges.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

let readGauges: Promise<WarehouseGauges> | undefined

export const metrics = mutants({
  'totals cover the whole life of the warehouse': {
    'test/features/telemetry/metrics.test.ts: totals continue in the next process': {
      'adds nothing to the totals of earlier runs': () =>
        breaking('engine/warehouse/counters').addToCounters(() => []),
    },
  },
  'gauges show the current state, and nothing about customers': {
    'test/features/telemetry/metrics.test.ts: show states as status does': {
      'reads gauges only once': () =>
        breaking('features/health/gauges').readGauges((sound, options) => (readGauges ??= sound(options))),
    },
  },
  'the textfile is complete, and never a reason to fail': {
    'test/features/telemetry/metricscommand.test.ts: is written after each run': {
      'writes into the file while others read it': () =>
        breaking('features/health/textfile').writeTextfile((_sound, named, text, folder) =>
          writeFile(resolve(folder, named), text),
        ),
    },
  },
  'a trace shows what a run did, and nothing about customers': {
    'test/engine/run/trace.test.ts: a run is one trace': {
      'ends before the spans are sent': () => breaking('engine/base/trace').flushSpans(async () => {}),
    },
  },
})
