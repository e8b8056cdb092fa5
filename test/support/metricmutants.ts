// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of the compiled program
/**
 * The metrics, taken away piece by piece (docs/operations.md, Metrics): each mutant is one change of the compiled program,
 * with the test that has to notice it. Played and checked together with those of servicemutants.ts.
 */
import type { MutantTable, ProductMutant } from './productmutants.js'

type Noticed = Pick<ProductMutant, 'test' | 'name' | 'on'>

const onBoth = (name: string): Noticed => ({
  test: 'test/service/metrics.test.ts',
  name,
  on: ['sqlite', 'postgres'],
})
const noticed = (test: string, name: string): Noticed => ({ test, name, on: [] })

const goOn = onBoth('totals go on in the next process')
const once = onBoth('a run counts once though every answer to a commit is lost')
const states = onBoth('tell states as status does')
const whole = noticed('test/cli/metrics.test.ts', 'is written after each run')
const serves = noticed('test/service/scheduleprocess.test.ts', 'serves, and ends by SIGTERM with 0')

export const metricMutants: MutantTable = {
  'totals are of the whole life of the warehouse': [
    {
      without: 'adding: each process begins at 0',
      file: 'src/warehouse/counters.ts',
      old: "value: eb('sync_counters.value', '+', eb.ref('excluded.value')),",
      now: "value: eb.ref('excluded.value'),",
      ...goOn,
    },
    {
      without: 'a look whether the run has been counted',
      file: 'src/sync/run/records.ts',
      old: 'ended.length > 0 ? [] : [...addToCounters',
      now: '[...addToCounters',
      ...once,
    },
    {
      without: 'its own run being no orphan',
      file: 'src/warehouse/runs.ts',
      old: "\n    .where('run_id', '!=', runId)",
      now: '',
      ...once,
    },
    {
      without: 'counting a run that was killed',
      file: 'src/sync/run/records.ts',
      old: '...addToCounters(db, counts), ',
      now: '',
      ...once,
    },
    {
      without: 'telling re-reads from changes',
      file: 'src/sync/run/pagestore.ts',
      old: 'counted.stored(resource, changed);',
      now: 'counted.stored(resource, records);',
      ...goOn,
    },
    {
      without: 'the records in time',
      file: 'src/sync/run/lateness.ts',
      old: 'this.#tell?.(micros);',
      now: 'if (micros > 0) this.#tell?.(micros);',
      ...onBoth('count how late records became visible'),
    },
    {
      without: 'the time that requests waited',
      file: 'src/api/rate/governor.ts',
      old: 'this.#asleepSince = now;',
      now: '',
      ...noticed('test/api/governor.test.ts', 'tells how long requests waited'),
    },
  ],
  'gauges are of now, and say nothing of customers': [
    {
      without: 'reading them anew: a tenant that is forgotten stays',
      file: 'src/service/metrics.ts',
      old: 'const state = await readGauges(options);',
      now: 'const state = (globalThis.before ??= await readGauges(options));',
      ...states,
    },
    {
      without: 'a stale state',
      file: 'src/sync/ask/gauges.ts',
      old: 'age === ages.stale ? Number.POSITIVE_INFINITY : 0',
      now: '0',
      ...states,
    },
    {
      without: 'an end to series of tenants',
      file: 'src/sync/ask/gauges.ts',
      old: 'wanted.length <= maxTenants',
      now: 'true',
      ...onBoth('tell each tenant apart up to maxTenants'),
    },
    {
      without: 'the kind alone: a field that the API made up becomes a label',
      file: 'src/sync/ask/gauges.ts',
      old: "['resource', 'kind', eb.fn.countAll().as('amount')])\n        .groupBy(['resource', 'kind'])",
      now: "['resource', 'path as kind', eb.fn.countAll().as('amount')])\n        .groupBy(['resource', 'path'])",
      ...onBoth('hold names of ours and ids alone'),
    },
  ],
  'the textfile is whole, and never a reason to fail': [
    {
      without: 'another name until it is whole',
      file: 'src/service/textfile.ts',
      old: 'join(dirname(file), `.${basename(file)}.${process.pid}.tmp`)',
      now: 'file',
      ...whole,
    },
    {
      without: 'its mode',
      file: 'src/service/textfile.ts',
      old: 'await chmod(beside, mode);',
      now: '',
      ...whole,
    },
    {
      without: 'taking away what is left of a file that could not be written',
      file: 'src/service/textfile.ts',
      old: 'await rm(beside, { force: true }).catch(() => { });',
      now: '',
      ...noticed('test/cli/metrics.test.ts', 'a file that cannot be written is warned about'),
    },
    {
      without: 'writing it when a tenant is forgotten',
      file: 'src/cli/commands/forget.ts',
      old: 'await writeMetrics(context);',
      now: '',
      ...noticed('test/cli/metrics.test.ts', 'tells of a run that failed'),
    },
  ],
  'a trace says what failed, and nothing of customers': [
    {
      without: 'sending what an SDK holds back',
      file: 'src/cli/context.ts',
      old: "(await import('../trace.js')).flushSpans()",
      now: 'undefined',
      ...noticed('test/sync/trace.test.ts', 'a run is one trace'),
    },
    {
      without: 'codes in the place of messages',
      file: 'src/trace.ts',
      old: 'error.details.code ?? error.name',
      now: 'error.message',
      ...noticed('test/sync/trace.test.ts', 'what failed is marked with a code'),
    },
    {
      without: 'the query left out',
      file: 'src/api/http/exchange.ts',
      old: "'shopsync.resource': resource,",
      now: "'shopsync.resource': this.call.path,",
      ...noticed('test/sync/trace.test.ts', 'a run is one trace'),
    },
  ],
  'monitoring asks by any name, and a foreign page for nothing': [
    {
      without: 'names for /metrics',
      file: 'src/service/http.ts',
      old: '!watched.has(pathOf(request.url)) && ',
      now: '',
      ...serves,
    },
    {
      without: 'addresses for /runs',
      file: 'src/service/http.ts',
      old: "'/metrics', '/health', '/ready'",
      now: "'/metrics', '/health', '/ready', '/runs'",
      ...serves,
    },
  ],
}
