/**
 * One table of the states of a cursor, and what the four faces make of each: `status` its line and exit code, alerts
 * their incidents, the metrics their counts, and the report its answer to "Can I trust it?".
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dayOfMonth } from '../../../src/engine/base/format.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { type CursorHealth, cursorStates } from '../../../src/features/health/cursorhealth.js'
import type { StatusReport } from '../../../src/features/health/statusdocument.js'
import { withAlerts } from '../../../src/features/health/tables.js'
import { readReport } from '../../../src/features/report/read/read.js'
import { trustSentence } from '../../../src/features/report/trustsentence.js'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { closeAll } from '../../support/harness/server.js'
import { reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf, receiver, ruleOf } from '../../support/world/alerting.js'

const resources = ['customers', 'payments']
const sandbox = await sandboxOfFile()
for (const tenant of [101, 102]) {
  sandbox.store.addTenant({ id: tenant })
  for (const resource of resources)
    sandbox.store.put(tenant, resource, template(resource, tenant, '2026-01-01T00:00:00Z'))
}
afterAll(closeAll)

/** A moment so many hours and half a minute ago, so that a slow test reads the same hours. */
const ago = (hours: number): string =>
  fromMicros((BigInt(Date.now()) - BigInt(Math.round(hours * 3_600_000)) - 30_000n) * 1000n)

const well = () => ({
  ...{ status: 'ok', completeness: 'proven', reason: null, last_error: null, refill: null, remembered: null },
  ...{ stamps_ahead: null, stamps_ahead_until: null, complete_through_before: null },
  ...{ watermark: ago(3), last_success_at: ago(2), complete_through: ago(2), deletes_checked_at: ago(2) },
})
type Cursor = Partial<Record<keyof ReturnType<typeof well>, string | number | null>>

/** What the faces make of it. */
interface Seen {
  /** The exit code of `status` before any alert, and after: an open incident is one more reason for 1. */
  readonly codes: readonly [number | null, number | null]
  /** The state in the document of status, and the one that the metrics count. */
  readonly state: string
  /** The same for `deletes_unchecked`. */
  readonly isUnchecked?: boolean
  /** What `status` and the operator's page begin with, and the report's answer contains; if anything is late. */
  readonly headline?: string
  /** What `status --quiet` says after the alerts. */
  readonly says?: readonly string[]
  /** What a receiver of alerts is told. */
  readonly opened?: string
  /** What the report answers. */
  readonly trust: string
}

interface Case {
  readonly name: string
  /** The columns of the cursor 101/payments that differ; null: no run has begun it. */
  readonly cursor?: () => Cursor | null
  readonly also?: (db: Warehouse['db']) => Promise<unknown>
  readonly except?: readonly number[]
  readonly seen: Seen
}

const yes = 'Yes. The data is complete up to 2 hours before this report.'
const notEntirely = (...words: string[]): string =>
  `Not entirely: ${words.join('; ')}. For details, run shopsync status.`
const lateSince = (hours: number): string => `may lack late records since ${dayOfMonth(ago(hours))}`
const incomplete = '1 of 4 sets of records may be incomplete'
const unended = 'not every set of records has been read to its end'
const underWay = 'the first load is under way, and not every set of records has been read yet'
const unchecked = 'deletions in 1 of 4 sets of records have not been checked recently'
const oldLists = (age: string): string => `some of the data is ${age} old`

/** Since so many hours; null: nobody is at work. */
const atWork = (db: Warehouse['db'], command: string | null, hours = 1) =>
  db
    .updateTable('sync_lease')
    .set({ owner: command && 'a run', command, host: 'elsewhere', claimed_at: ago(hours) })
    .set({ expires_at: fromMicros(BigInt(Date.now() + 30_000) * 1000n) })

/** A shard that doesn't have tenant 101. */
const shardAtWork = async (db: Warehouse['db']) => {
  await db.insertInto('sync_lease').values({ name: '0/2', token: 0 }).execute()
  await atWork(db, 'sync').where('name', '=', '0/2').execute()
}

const cases: readonly Case[] = [
  { name: 'proven', seen: { codes: [0, 0], state: 'ok', trust: yes } },
  {
    name: 'repaired',
    cursor: () => ({ completeness: 'repaired', reason: 'doubtful' }),
    seen: { codes: [0, 0], state: 'ok', trust: yes },
  },
  {
    name: 'listed',
    cursor: () => ({ completeness: 'listed', reason: 'no_true_total' }),
    seen: { codes: [0, 0], state: 'ok', trust: yes },
  },
  {
    name: 'no run has begun it',
    cursor: () => null,
    seen: {
      codes: [1, 1],
      state: 'never',
      says: ['tenant 101, payments: never complete'],
      trust: notEntirely(incomplete, unended),
    },
  },
  {
    name: 'begun, and never read to its end',
    cursor: () => ({
      ...{ status: null, completeness: null, watermark: null },
      ...{ last_success_at: null, complete_through: null, deletes_checked_at: null },
    }),
    seen: {
      codes: [1, 1],
      state: 'never',
      says: ['tenant 101, payments: never complete'],
      trust: notEntirely(incomplete, unended, unchecked),
    },
  },
  {
    name: 'never read, but a run is at work',
    cursor: () => ({
      ...{ status: null, completeness: null, watermark: null },
      ...{ last_success_at: null, complete_through: null, deletes_checked_at: null },
    }),
    also: (db) => atWork(db, 'sync').execute(),
    seen: { codes: [0, 0], state: 'loading', trust: notEntirely(underWay, unchecked) },
  },
  {
    name: 'never read, but a shard of other tenants is at work',
    cursor: () => null,
    also: shardAtWork,
    seen: { codes: [0, 0], state: 'loading', trust: notEntirely(underWay) },
  },
  {
    name: 'failed in its first load while a run is at work',
    cursor: () => ({
      ...{
        status: 'failed',
        completeness: null,
        reason: 'unreachable',
        last_error: 'GET payments answered 500',
      },
      ...{ last_success_at: null, complete_through: null, deletes_checked_at: null },
    }),
    also: (db) => atWork(db, 'sync').execute(),
    seen: {
      codes: [1, 1],
      state: 'failed',
      says: ['tenant 101, payments: failed, never complete: GET payments answered 500'],
      opened: 'opened: failed 101/payments',
      trust: notEntirely(incomplete, underWay, unchecked),
    },
  },
  {
    name: 'unproven, and failed for it',
    cursor: () => ({
      ...{ status: 'failed', completeness: 'unproven', reason: 'short' },
      last_error: 'The list is short of 3 records',
    }),
    seen: {
      codes: [1, 1],
      state: 'failed',
      says: ['tenant 101, payments: failed, complete 2 h ago: The list is short of 3 records'],
      opened: 'opened: unproven 101/payments',
      trust: notEntirely(incomplete),
    },
  },
  {
    name: 'unproven, and not failed',
    cursor: () => ({ completeness: 'unproven', reason: 'interrupted' }),
    seen: {
      codes: [1, 1],
      state: 'unproven',
      says: ['tenant 101, payments: unproven, complete 2 h ago'],
      opened: 'opened: unproven 101/payments',
      trust: notEntirely(incomplete),
    },
  },
  {
    name: 'failed once',
    cursor: () => ({ status: 'failed', reason: 'unreachable', last_error: 'GET payments answered 500' }),
    seen: {
      codes: [1, 1],
      state: 'failed',
      says: ['tenant 101, payments: failed, complete 2 h ago: GET payments answered 500'],
      opened: 'opened: failed 101/payments',
      trust: notEntirely(incomplete),
    },
  },
  {
    name: 'failing for three days',
    cursor: () => ({
      ...{ status: 'failed', reason: 'unreachable', last_error: 'GET payments answered 500' },
      ...{ last_success_at: ago(73), complete_through: ago(73) },
    }),
    seen: {
      codes: [1, 1],
      state: 'failed',
      says: ['tenant 101, payments: failed, complete 3 d 1 h ago: GET payments answered 500'],
      opened: 'opened: failed 101/payments',
      trust: notEntirely(incomplete, oldLists('3 days')),
    },
  },
  {
    name: 'stale',
    cursor: () => ({ last_success_at: ago(30), complete_through: ago(30) }),
    seen: {
      codes: [1, 1],
      state: 'stale',
      says: ['tenant 101, payments: stale, complete 1 d 6 h ago'],
      opened: 'opened: stale 101/payments',
      trust: notEntirely(oldLists('30 hours')),
    },
  },
  {
    name: 'not yet stale',
    cursor: () => ({ last_success_at: ago(25), complete_through: ago(25) }),
    seen: {
      codes: [0, 0],
      state: 'ok',
      trust: 'Yes. The data is complete up to 25 hours before this report.',
    },
  },
  {
    name: 'stale, but a run has been at work for longer',
    cursor: () => ({ last_success_at: ago(30), complete_through: ago(30) }),
    also: (db) => atWork(db, 'sync', 31).execute(),
    seen: {
      codes: [0, 0],
      state: 'ok',
      trust: 'Yes. The data is complete up to 30 hours before this report.',
    },
  },
  {
    name: 'stale, and only a listener is at work',
    cursor: () => ({ last_success_at: ago(30), complete_through: ago(30) }),
    also: (db) => atWork(db, 'listen', 31).execute(),
    seen: {
      codes: [1, 1],
      state: 'stale',
      says: ['tenant 101, payments: stale, complete 1 d 6 h ago'],
      opened: 'opened: stale 101/payments',
      trust: notEntirely(oldLists('30 hours')),
    },
  },
  {
    name: 'complete ahead of the clock',
    cursor: () => ({ last_success_at: ago(-5), complete_through: ago(-5) }),
    seen: {
      codes: [1, 1],
      state: 'stale',
      says: [
        "tenant 101, payments: stale, complete at MOMENT, ahead of this machine's clock: how long ago is unknown",
      ],
      opened: 'opened: stale 101/payments',
      trust: notEntirely(unended),
    },
  },
  {
    name: 'complete at a clock that is seconds ahead',
    cursor: () => ({ last_success_at: ago(-0.015), complete_through: ago(2) }),
    seen: { codes: [0, 0], state: 'ok', trust: yes },
  },
  {
    name: 'deletions not checked for four days',
    cursor: () => ({ deletes_checked_at: ago(96) }),
    seen: {
      codes: [1, 1],
      state: 'ok',
      isUnchecked: true,
      says: ['tenant 101, payments: deletions were last checked at MOMENT. Type shopsync reconcile'],
      opened: 'opened: deletes_unchecked 101/payments',
      trust: notEntirely(unchecked),
    },
  },
  {
    name: 'deletions never checked',
    cursor: () => ({ deletes_checked_at: null }),
    seen: { codes: [0, 0], state: 'ok', trust: notEntirely(unchecked) },
  },
  {
    name: 'deletions checked ahead of the clock',
    cursor: () => ({ deletes_checked_at: ago(-5) }),
    seen: {
      codes: [1, 1],
      state: 'ok',
      isUnchecked: true,
      says: ['tenant 101, payments: deletions were last checked at MOMENT. Type shopsync reconcile'],
      opened: 'opened: deletes_unchecked 101/payments',
      trust: notEntirely(unchecked),
    },
  },
  {
    name: 'stale, and deletions not checked for four days',
    cursor: () => ({ last_success_at: ago(96), complete_through: ago(96), deletes_checked_at: ago(96) }),
    seen: {
      codes: [1, 1],
      state: 'stale',
      isUnchecked: true,
      says: ['tenant 101, payments: stale, complete 4 d ago'],
      opened: 'opened: deletes_unchecked 101/payments, stale 101/payments',
      trust: notEntirely(oldLists('4 days'), unchecked),
    },
  },
  {
    name: 'unavailable',
    cursor: () => ({
      ...{ status: 'unavailable', completeness: null, watermark: null },
      ...{ last_success_at: null, complete_through: null, deletes_checked_at: null },
    }),
    seen: {
      codes: [0, 0],
      state: 'unavailable',
      trust:
        'Yes. The data is complete up to 2 hours before this report, without 1 set of records that the source doesn’t offer.',
    },
  },
  {
    name: 'skipped in the last run',
    cursor: () => ({ status: 'skipped' }),
    seen: { codes: [0, 0], state: 'ok', trust: yes },
  },
  {
    name: 'owed a whole reading',
    cursor: () => ({ refill: 'a column was added' }),
    seen: {
      codes: [0, 0],
      state: 'ok',
      trust: notEntirely(
        '1 of 4 sets of records must be read again in full and may be missing rows until shopsync sync has done that',
      ),
    },
  },
  {
    name: 'set back by a late record',
    cursor: () => ({ complete_through_before: ago(1) }),
    seen: { codes: [0, 0], state: 'ok', trust: yes },
  },
  {
    name: 'set back by days, and not read whole since',
    cursor: () => ({ complete_through_before: ago(2), complete_through: ago(73) }),
    seen: {
      codes: [0, 0],
      state: 'late',
      headline: `payments ${lateSince(73)}`,
      trust: notEntirely(`payments ${lateSince(73)}`),
    },
  },
  {
    name: 'set back by days, and failing',
    cursor: () => ({
      ...{ complete_through_before: ago(2), complete_through: ago(73) },
      ...{ status: 'failed', reason: 'unreachable', last_error: 'GET payments answered 500' },
    }),
    seen: {
      codes: [1, 1],
      state: 'failed',
      says: ['tenant 101, payments: failed, complete 2 h ago: GET payments answered 500'],
      opened: 'opened: failed 101/payments',
      trust: notEntirely(incomplete),
    },
  },
  {
    name: 'set back by days, and read whole since',
    cursor: () => ({ complete_through: ago(73) }),
    seen: {
      codes: [0, 0],
      state: 'ok',
      trust: 'Yes. The data is complete up to 3 days before this report.',
    },
  },
  {
    name: 'two lists set back by days',
    cursor: () => ({ complete_through_before: ago(2), complete_through: ago(73) }),
    also: (db) =>
      db
        .updateTable('sync_cursors')
        .set({ complete_through_before: ago(2), complete_through: ago(97) })
        .where('tenant_id', '=', 102)
        .execute(),
    seen: {
      codes: [0, 0],
      state: 'late',
      headline: `payments and customers ${lateSince(97)}`,
      trust: notEntirely(`payments and customers ${lateSince(97)}`),
    },
  },
  {
    name: 'a value in quarantine',
    also: (db) =>
      db
        .insertInto('sync_quarantine')
        .values({
          ...{ tenant_id: 101, resource: 'payments', record_id: '1', path: 'amount_cents', value: '12.5' },
          ...{ reason: 'fraction', first_seen_at: ago(0), last_seen_at: ago(0) },
        })
        .execute(),
    seen: {
      codes: [0, 1],
      state: 'ok',
      says: ['open: quarantine since MOMENT: tenant 101, payments: a value or record could not be stored'],
      opened: 'opened: quarantine 101/payments',
      trust: yes,
    },
  },
  {
    name: 'failing, and its tenant is left out by the configuration',
    cursor: () => ({ status: 'failed', reason: 'unreachable', last_error: 'GET payments answered 500' }),
    except: [101],
    seen: { codes: [0, 0], state: 'excepted', trust: notEntirely(incomplete) },
  },
  {
    name: 'stale, and its tenant is not granted any more',
    cursor: () => ({ last_success_at: ago(30), complete_through: ago(30) }),
    also: (db) =>
      db
        .updateTable('tenants')
        .set({ revoked_at: ago(20) })
        .where('tenant_id', '=', 101)
        .execute(),
    seen: {
      codes: [1, 1],
      state: 'revoked',
      says: [
        'Tenant 101 is no longer granted; its rows are kept. Ask its owner to grant access again, add it to sync.exceptTenants, or type shopsync forget --tenant 101',
      ],
      opened: 'opened: revoked 101',
      trust: notEntirely('tenant 101 no longer grants access, but its old figures are still in every sum'),
    },
  },
  {
    name: 'not granted any more, and left out by the configuration',
    also: (db) =>
      db
        .updateTable('tenants')
        .set({ revoked_at: ago(20) })
        .where('tenant_id', '=', 101)
        .execute(),
    except: [101],
    seen: {
      codes: [0, 0],
      state: 'excepted',
      trust: notEntirely('tenant 101 no longer grants access, but its old figures are still in every sum'),
    },
  },
  {
    name: 'its tenant was forgotten',
    also: async (db) => {
      await db.deleteFrom('sync_cursors').where('tenant_id', '=', 101).execute()
      await db.deleteFrom('tenants').where('tenant_id', '=', 101).execute()
      await db
        .insertInto('sync_forgotten')
        .values({ tenant_id: 101, forgotten_at: ago(1) })
        .execute()
    },
    seen: { codes: [0, 0], state: 'none', trust: yes },
  },
]

/** What `status --quiet` says, with the moments left out. */
const linesOf = (text: string): string[] =>
  text
    .trimEnd()
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, 'MOMENT')
    .replaceAll(/^shopsync: status: /gm, '')
    .split('\n')

const states = cursorStates
/** What any face says of late records; empty if nothing. */
const lateIn = (text: string): string =>
  /[a-z_, ]+ may lack late records since \w+ \d+/.exec(text)?.[0].trim() ?? ''

describe.each(warehouses())('$name: the cursor of one list', (kind) => {
  let warehouse: Warehouse
  let configs: (except: readonly number[]) => string

  beforeAll(async () => {
    const address = await kind.viewed()
    const config = configure(sandbox, address, resources)
    configs = (except) =>
      except.length === 0
        ? config
        : configure(sandbox, address, resources, { sync: { exceptTenants: except } })
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    warehouse = await reopen(address)
    return () => warehouse.close()
  })

  /** Everything well, then what the case changes. */
  async function arrange({ cursor = () => ({}), also }: Case): Promise<void> {
    const { db } = warehouse
    await withAlerts(db).deleteFrom('sync_alerts').execute()
    for (const table of ['sync_quarantine', 'sync_forgotten', 'tenants', 'sync_cursors'] as const)
      await db.deleteFrom(table).execute()
    await db.deleteFrom('sync_lease').where('name', '<>', 'run').execute()
    await atWork(db, null).execute()
    for (const tenant_id of [101, 102]) {
      await db.insertInto('tenants').values({ tenant_id, revoked_at: null }).execute()
      for (const resource of resources) {
        const changed = tenant_id === 101 && resource === 'payments' ? cursor() : {}
        if (changed === null) continue
        const row = { tenant_id, resource, ...well(), ...changed }
        await db
          .insertInto('sync_cursors')
          .values(row as never)
          .execute()
      }
    }
    await also?.(db)
  }

  /** The options that status, metrics, report and alerts share. */
  const options = (except: readonly number[]) => ({
    ...{
      resources,
      exceptTenants: except,
      staleAfterMs: 26 * 3_600_000,
      deletesUncheckedAfterMs: 72 * 3_600_000,
    },
    nowMicros: BigInt(Date.now()) * 1000n,
  })

  async function counted(document: StatusReport, shown: CursorHealth | undefined, except: readonly number[]) {
    const metrics = await metricsOf(warehouse, options(except))
    const others = document.cursors.filter((one) => one !== shown)
    const own = states.filter(
      (state) => metrics.sum('cursors', { state }) !== others.filter((one) => one.state === state).length,
    )
    const ownUnchecked =
      (metrics.sum('cursors_deletes_unchecked') ?? 0) - others.filter((one) => one.deletes_unchecked).length
    return { state: own.join() || 'none', unchecked: ownUnchecked > 0 }
  }

  /** What the status for people says, and the operator's page. */
  async function headlines(except: readonly number[]): Promise<string[]> {
    const config = configs(except)
    const file = join(scratch(), 'operations.html')
    await shopsync(['report', '--operations', '--out', file, '--config', config])
    const status = await shopsync(['status', '--config', config])
    return [status.stdout, readFileSync(file, 'utf8')].map(lateIn)
  }

  async function answered(except: readonly number[]): Promise<string> {
    const { madeAt, scopes } = await readReport({
      ...options(except),
      ...{ warehouse, label: '', source: { baseUrl: sandbox.url, partnerId: sandbox.partnerId } },
      ...{ schema: undefined, timeZone: 'UTC', synced: resources, tenants: null },
    })
    return scopes[0] ? trustSentence(scopes[0].trust, madeAt).sentence : ''
  }

  async function alerted(except: readonly number[]): Promise<string[]> {
    const hook = await receiver()
    const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    world.settings = options(except)
    const startedAt = fromMicros(world.clock.nowMicros())
    await world.tell({ runId: null, job: null, startedAt, reports: [], isLook: true })
    return hook
      .take()
      .filter(({ type }) => type === 'opened')
      .map(lineOf)
  }

  async function look({ except = [] }: Case): Promise<Seen> {
    const call = (...words: string[]) => shopsync(['status', ...words, '--config', configs(except)])
    const status = await call('--json')
    const document = status.json<StatusReport & { headline: string }>()
    const shown = document.cursors.find(
      ({ tenant_id, resource }) => tenant_id === 101 && resource === 'payments',
    )
    const headline = lateIn(document.headline)
    expect(await headlines(except)).toEqual([headline, headline])
    const isUnchecked = shown?.deletes_unchecked ?? false
    const state = shown?.state ?? 'none'
    expect(await counted(document, shown, except)).toEqual({ state, unchecked: isUnchecked })
    const trust = await answered(except)
    const opened = await alerted(except)
    const later = await call('--quiet')
    return {
      codes: [status.code, later.code],
      state,
      ...(headline !== '' && { headline }),
      ...(isUnchecked && { isUnchecked }),
      ...(later.stderr !== '' && { says: linesOf(later.stderr) }),
      ...(opened.length > 0 && { opened: opened.join('; ') }),
      trust,
    }
  }

  it.each(cases)('$name', async (one) => {
    await arrange(one)
    expect(await look(one)).toEqual(one.seen)
  })
})
