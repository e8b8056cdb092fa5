/**
 * One table of the states of a cursor, and what the four faces make of each: `status` its line and exit code, alerts
 * their incidents, the metrics their counts, and the report its answer to "Can I trust it?".
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { closeAll } from '../../support/harness/server.js'
import { restoreTimeOfDay, setTimeOfDay } from '../../support/harness/shiftedclock.js'
import { reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf, receiver, ruleOf } from '../../support/world/alerting.js'

/** Every case begins at this moment; so many hours before it. */
const now = Date.parse('2026-11-20T12:00:00Z')
const ago = (hours: number): string => fromMicros(BigInt(now - Math.round(hours * 3_600_000)) * 1000n)
setTimeOfDay(now)

// No figure of the report depends on notes.
const resources = ['customers', 'notes', 'payments']
const sandbox = await sandboxOfFile()
for (const tenant of [101, 102]) {
  sandbox.store.addTenant({ id: tenant })
  for (const resource of resources)
    sandbox.store.put(tenant, resource, template(resource, tenant, '2026-01-01T00:00:00Z'))
}
afterAll(closeAll)
afterAll(restoreTimeOfDay)

const well = {
  status: 'ok',
  completeness: 'proven',
  reason: null,
  last_error: null,
  refill: null,
  remembered: null,
  stamps_ahead: null,
  stamps_ahead_until: null,
  complete_through_before: null,
  watermark: ago(3),
  last_success_at: ago(2),
  complete_through: ago(2),
  deletes_checked_at: ago(2),
}
type Cursor = Partial<Record<keyof typeof well, string | number | null>>

/** Read to its end so many hours ago. */
const read = (hours: number): Cursor => ({ last_success_at: ago(hours), complete_through: ago(hours) })
const unread: Cursor = {
  status: null,
  completeness: null,
  watermark: null,
  last_success_at: null,
  complete_through: null,
  deletes_checked_at: null,
}
const gone = 'GET payments answered 500'
const down: Cursor = { status: 'failed', reason: 'unreachable', last_error: gone }
/** A late record set it back by a day. */
const setBack: Cursor = { complete_through_before: ago(2), complete_through: ago(73) }

/** What the faces make of it. */
interface Seen {
  /** The exit code of `status` before any alert, and after: an open incident is one more reason for 1. */
  readonly codes: readonly [number | null, number | null]
  /** The state in the document of status, which the metrics count; followed by a `!` if its deletions need a check. */
  readonly state: string
  /** What `status` and the operator's page begin with, and the report's answer contains; if anything is late. */
  readonly headline?: string | undefined
  /** What `status --quiet` says after the alerts. */
  readonly says?: string | undefined
  /** What a receiver of alerts is told. */
  readonly opened?: string | undefined
  /** The tone of the report's answer after the alerts, and the answer; the metrics count as many open incidents. */
  readonly trust: string
}

const yes = (age = '2 hours'): string => `good: Yes. The data is complete up to ${age} before this report.`
const notEntirely = (...words: string[]): string =>
  `${words.some((one) => bad.includes(one)) ? 'bad' : 'watch'}: Not entirely: ${words.join('; ')}. For details, run shopsync status.`
const incomplete = '1 of 4 sets of records may be incomplete'
const unended = 'not every set of records has been read to its end'
const underWay = 'the first load is under way, and not every set of records has been read yet'
const unchecked = 'deletions in 1 of 4 sets of records have not been checked recently'
const oldFigures = 'Main no longer grants access, but its old figures are still in every sum'
const otherSource = `the data is from ${sandbox.url} (partner ${sandbox.partnerId}), but the configuration names a different source, so nothing is updated`
const bad = [incomplete, oldFigures, otherSource]
const oldLists = (age: string): string => `some of the data is ${age} old`

/** It needs nobody. */
const fine = (state: string, ...doubts: string[]): Seen => ({
  codes: [0, 0],
  state,
  trust: doubts.length === 0 ? yes() : notEntirely(...doubts),
})
const openly = (kinds: readonly string[]): string =>
  `${kinds.length === 1 ? '1 incident is' : `${kinds.length} incidents are`} open (${kinds.map((kind) => `${kind.replaceAll('_', ' ')}: payments`).join('; ')})`
/** It needs somebody. `says`: of the list; `kinds`: the incidents that open. */
const ill = (state: string, says: string, kinds: readonly string[], ...doubts: string[]): Seen => {
  const opened = kinds.map((kind) => `${kind} 101/payments`).toSorted()
  return {
    codes: [1, 1],
    state,
    says: `tenant 101, payments: ${says}`,
    opened: kinds.length === 0 ? undefined : `opened: ${opened.join(', ')}`,
    trust: notEntirely(...doubts, ...(kinds.length === 0 ? [] : [openly(kinds)])),
  }
}

/** A run has been at work for so many hours; the lease of the shard 0/2 doesn't have tenant 101. */
const working = (command: string, hours = 1, name = 'run'): string =>
  `update @sync_lease set owner = 'a run', command = '${command}', host = 'elsewhere', claimed_at = '${ago(hours)}', expires_at = '${ago(-1 / 60)}' where name = '${name}'`
const shard = "insert into @sync_lease (name, token) values ('0/2', 0)"
const revoked = `update @tenants set revoked_at = '${ago(20)}' where tenant_id = 101`
const forgotten = [
  'delete from @sync_cursors where tenant_id = 101',
  'delete from @tenants where tenant_id = 101',
  `insert into @sync_forgotten (tenant_id, forgotten_at) values (101, '${ago(1)}')`,
]
const setAside = `insert into @sync_quarantine (tenant_id, resource, record_id, path, value, reason, first_seen_at, last_seen_at) values (101, 'payments', '1', 'amount_cents', '12.5', 'fraction', '${ago(0)}', '${ago(0)}')`
const setBackToo = `update @sync_cursors set complete_through_before = '${ago(2)}', complete_through = '${ago(97)}' where tenant_id = 102 and resource = 'customers'`
const notesUnproven =
  "update @sync_cursors set completeness = 'unproven' where tenant_id = 101 and resource = 'notes'"

const stale = ill('stale', 'stale, complete 1 d 6 h ago', ['stale'], oldLists('30 hours'))
const notChecked = 'deletions were last checked at 2026-11-16 12:00:00 UTC. Type shopsync reconcile'
const failing = ill('failed', `failed, complete 2 h ago: ${gone}`, ['failed'], incomplete)
const late = 'may lack late records since Nov'

/** The columns of the cursor 101/payments that differ (null: no run has begun it), what is seen, and what else differs. */
type Case = readonly [cursor: Cursor | null, seen: Seen, also?: readonly string[], settings?: object]
const leftOut = { sync: { exceptTenants: [101] } }

const cases: Readonly<Record<string, Case>> = {
  proven: [{}, fine('ok')],
  repaired: [{ completeness: 'repaired', reason: 'doubtful' }, fine('ok')],
  listed: [{ completeness: 'listed', reason: 'no_true_total' }, fine('ok')],
  'no run has begun it': [null, ill('never', 'never complete', [], incomplete, unended)],
  'begun, and never read to its end': [
    unread,
    ill('never', 'never complete', [], incomplete, unended, unchecked),
  ],
  'never read, but a run is at work': [unread, fine('loading', underWay, unchecked), [working('sync')]],
  'never read, but a shard of other tenants is at work': [
    null,
    fine('loading', underWay),
    [shard, working('sync', 1, '0/2')],
  ],
  'failed in its first load while a run is at work': [
    { ...unread, ...down },
    ill('failed', `failed, never complete: ${gone}`, ['failed'], incomplete, underWay, unchecked),
    [working('sync')],
  ],
  'unproven, and failed for it': [
    { ...down, completeness: 'unproven', reason: 'short' },
    { ...failing, ...ill('failed', `failed, complete 2 h ago: ${gone}`, ['unproven'], incomplete) },
  ],
  'unproven, and not failed': [
    { completeness: 'unproven', reason: 'interrupted' },
    ill('unproven', 'unproven, complete 2 h ago', ['unproven'], incomplete),
  ],
  'failed once': [down, failing],
  'failing for three days': [
    { ...down, ...read(73) },
    {
      ...ill(
        'failed',
        `failed, complete 3 d 1 h ago: ${gone}`,
        ['stale', 'failed'],
        incomplete,
        oldLists('3 days'),
      ),
      // Who knows that it fails isn't told that it grows stale.
      opened: 'opened: failed 101/payments',
    },
  ],
  stale: [read(30), stale],
  'not yet stale': [read(25), { ...fine('ok'), trust: yes('25 hours') }],
  'stale, but a run has been at work for longer': [
    read(30),
    { ...fine('ok'), trust: yes('30 hours') },
    [working('sync', 31)],
  ],
  'stale before the run at work began': [read(30), stale, [working('sync', 29)]],
  'stale, and only a listener is at work': [read(30), stale, [working('listen', 31)]],
  'complete ahead of the clock': [
    read(-5),
    ill(
      'stale',
      "stale, complete at 2026-11-20 17:00:00 UTC, ahead of this machine's clock: how long ago is unknown",
      ['stale'],
      unended,
    ),
  ],
  'complete at a clock that is seconds ahead': [{ ...read(2), last_success_at: ago(-0.01) }, fine('ok')],
  'deletions not checked for four days': [
    { deletes_checked_at: ago(96) },
    ill('ok!', notChecked, ['deletes_unchecked'], unchecked),
  ],
  'deletions never checked': [{ deletes_checked_at: null }, fine('ok', unchecked)],
  'deletions checked ahead of the clock': [
    { deletes_checked_at: ago(-5) },
    ill('ok!', notChecked.replace('16 12', '20 17'), ['deletes_unchecked'], unchecked),
  ],
  'stale, and deletions not checked for four days': [
    { ...read(96), deletes_checked_at: ago(96) },
    ill('stale!', 'stale, complete 4 d ago', ['stale', 'deletes_unchecked'], oldLists('4 days'), unchecked),
  ],
  unavailable: [
    { ...unread, status: 'unavailable' },
    {
      ...fine('unavailable'),
      trust: `${yes().slice(0, -1)}, without 1 set of records that the source doesn’t offer.`,
    },
  ],
  'skipped in the last run': [{ status: 'skipped' }, fine('ok')],
  'owed a whole reading': [
    { refill: 'a column was added' },
    fine(
      'ok',
      '1 of 4 sets of records must be read again in full and may be missing rows until shopsync sync has done that',
    ),
  ],
  'set back by a late record': [{ complete_through_before: ago(1) }, fine('ok')],
  'set back by days, and not read whole since': [
    setBack,
    { ...fine('late', `payments ${late} 17`), headline: `payments ${late} 17` },
  ],
  'set back by days, and failing': [{ ...down, ...setBack }, failing],
  'set back by days, and read whole since': [
    { complete_through: ago(73) },
    { ...fine('ok'), trust: yes('3 days') },
  ],
  'two lists set back by days': [
    setBack,
    { ...fine('late', `payments and customers ${late} 16`), headline: `payments and customers ${late} 16` },
    [setBackToo],
  ],
  'proven, while a list that no figure depends on is not': [
    {},
    {
      codes: [1, 1],
      state: 'ok',
      says: 'tenant 101, notes: unproven, complete 2 h ago',
      opened: 'opened: unproven 101/notes',
      trust: notEntirely('1 incident is open (unproven: notes)'),
    },
    [notesUnproven],
  ],
  // It doesn't affect the exit code of runs, but nothing says that all is well while it is open.
  'a value in quarantine': [
    {},
    {
      codes: [0, 1],
      state: 'ok',
      opened: 'opened: quarantine 101/payments',
      says: 'open: quarantine since MOMENT: tenant 101, payments: a value or record could not be stored',
      trust: notEntirely('1 incident is open (values set aside: payments)'),
    },
    [setAside],
  ],
  'failing, and its tenant is left out by the configuration': [
    down,
    fine('excepted', incomplete),
    [],
    leftOut,
  ],
  'stale, and its tenant is not granted any more': [
    read(30),
    {
      codes: [1, 1],
      state: 'revoked',
      opened: 'opened: revoked 101',
      says: 'Tenant 101 is no longer granted; its rows are kept. Ask its owner to grant access again, add it to sync.exceptTenants, or type shopsync forget --tenant 101',
      trust: notEntirely(oldFigures, '1 incident is open (revoked)'),
    },
    [revoked],
  ],
  'not granted any more, and left out by the configuration': [
    {},
    fine('excepted', oldFigures),
    [revoked],
    leftOut,
  ],
  'its tenant was forgotten': [{}, fine('none'), forgotten],
  'of another source': [
    {},
    {
      ...fine('ok', otherSource),
      codes: [1, 1],
      says: expect.stringContaining('names a different source, so runs are refused'),
    },
    [],
    { api: { baseUrl: 'http://127.0.0.1:9' } },
  ],
}

const states = 'ok stale failed unproven late unavailable never loading revoked excepted'.split(' ')
/** What `status --quiet` says. */
const saidIn = (text: string): string | undefined =>
  text
    .trimEnd()
    .replaceAll(/^shopsync: status: /gm, '')
    .replace(/since \S+ \S+ UTC/, 'since MOMENT') || undefined
/** What any face says of late records; undefined if nothing. */
const lateIn = (text: string): string | undefined =>
  /[a-z_, ]+ may lack late records since \w+ \d+/.exec(text)?.[0].trim()

describe.each(warehouses())('$name: the cursor of one list', (kind) => {
  let warehouse: Warehouse
  let schema = ''
  let configured: (settings?: object) => string

  beforeAll(async () => {
    const address = await kind.viewed()
    schema = kind.name === 'sqlite' ? '' : `"${address.schema}".`
    const report = { tenantNames: { 101: 'Main' } }
    configured = (settings) => configure(sandbox, address, resources, { report, ...settings })
    expect((await shopsync(['sync', '--config', configured()])).code).toBe(0)
    warehouse = await reopen(address)
    return () => warehouse.close()
  })

  const does = async (...statements: readonly string[]): Promise<void> => {
    for (const one of statements) await sql.raw(one.replaceAll('@', schema)).execute(warehouse.db)
  }

  /** Everything well, then what the case changes. */
  async function arrange([changes, , also = []]: Case): Promise<void> {
    setTimeOfDay(now)
    const tables = ['sync_alerts', 'sync_quarantine', 'sync_forgotten', 'tenants', 'sync_cursors']
    await does(
      ...tables.map((table) => `delete from @${table}`),
      "delete from @sync_lease where name <> 'run'",
      'update @sync_lease set owner = null, command = null',
      'insert into @tenants (tenant_id) values (101), (102)',
    )
    for (const tenant_id of [101, 102])
      for (const resource of resources) {
        const changed = tenant_id === 101 && resource === 'payments' ? changes : {}
        if (changed === null) continue
        const row = { tenant_id, resource, ...well, ...changed }
        await warehouse.db
          .insertInto('sync_cursors')
          .values(row as never)
          .execute()
      }
    await does(...also)
  }

  /** What a receiver of alerts is told, and what the metrics count then. */
  async function watched(exceptTenants: readonly number[]) {
    const options = {
      resources,
      exceptTenants,
      staleAfterMs: 26 * 3_600_000,
      deletesUncheckedAfterMs: 72 * 3_600_000,
      nowMicros: BigInt(Date.now()) * 1000n,
    }
    const hook = await receiver()
    const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    world.settings = options
    await world.look()
    const opened = hook.take().filter(({ type }) => type === 'opened')
    return {
      opened: opened.map(lineOf).join('; ') || undefined,
      metrics: await metricsOf(warehouse, options),
    }
  }

  async function look([, , , settings]: Case): Promise<Seen> {
    const config = configured(settings)
    const run = (...words: string[]) => shopsync([...words, '--config', config])
    const before = await run('status', '--json')
    const { headline, cursors } = before.json<{
      readonly headline: string
      readonly cursors: readonly Readonly<Record<string, unknown>>[]
    }>()
    const shown = cursors.find(({ tenant_id, resource }) => tenant_id === 101 && resource === 'payments')
    if (lateIn(headline) !== undefined) {
      const page = join(scratch(), 'page.html')
      await run('report', '--operations', '--out', page)
      for (const text of [readFileSync(page, 'utf8'), (await run('status')).stdout])
        expect(lateIn(text)).toBe(lateIn(headline))
    }
    const { opened, metrics } = await watched(settings === leftOut ? [101] : [])
    const after = await run('status', '--quiet')
    const report = (await run('report', '--json', '--out', '/dev/null')).json<{
      readonly answers: readonly { readonly tone: string; readonly answer: string }[]
    }>()
    const { tone, answer } = report.answers[0]!
    expect({
      ...Object.fromEntries(states.map((state) => [state, metrics.sum('cursors', { state })])),
      unchecked: metrics.sum('cursors_deletes_unchecked'),
      open: metrics.sum('incidents_open'),
    }).toEqual({
      ...Object.fromEntries(
        states.map((state) => [state, cursors.filter((one) => one.state === state).length]),
      ),
      unchecked: cursors.filter((one) => one.deletes_unchecked).length,
      open: Number(/(\d+) incidents? (?:is|are) open/.exec(answer)?.[1] ?? 0),
    })
    return {
      codes: [before.code, after.code],
      state: shown ? `${shown.state}${shown.deletes_unchecked ? '!' : ''}` : 'none',
      headline: lateIn(headline),
      says: saidIn(after.stderr),
      opened,
      trust: `${tone}: ${answer}`,
    }
  }

  it.each(Object.entries(cases))('%s', async (_name, one) => {
    await arrange(one)
    expect(await look(one)).toEqual(one[1])
  })
})
