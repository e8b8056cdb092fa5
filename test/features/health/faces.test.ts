/**
 * One table of the states of a cursor, and what the four faces make of each: `status` its line and exit code, alerts
 * their incidents, the metrics their counts, and the report its answer to "Can I trust it?".
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dayOfMonth } from '../../../src/engine/base/format.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
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
})
type Cursor = Partial<Record<keyof ReturnType<typeof well>, string | number | null>>

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
  /** What the report answers after the alerts; the metrics count as many open incidents. */
  readonly trust: string
}

interface Case {
  /** The columns of the cursor 101/payments that differ; null: no run has begun it. */
  readonly cursor?: () => Cursor | null
  readonly also?: Change
  readonly except?: readonly number[]
  readonly seen: Seen
}

const yes = (age = '2 hours'): string => `Yes. The data is complete up to ${age} before this report.`
const notEntirely = (...words: string[]): string =>
  `Not entirely: ${words.join('; ')}. For details, run shopsync status.`
const lateSince = (hours: number): string => `may lack late records since ${dayOfMonth(ago(hours))}`
const incomplete = '1 of 4 sets of records may be incomplete'
const unended = 'not every set of records has been read to its end'
const underWay = 'the first load is under way, and not every set of records has been read yet'
const unchecked = 'deletions in 1 of 4 sets of records have not been checked recently'
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
const ill = (state: string, says: string, kinds: readonly string[], ...doubts: string[]): Seen => ({
  codes: [1, 1],
  state,
  says: [`tenant 101, payments: ${says}`],
  ...(kinds.length > 0 && {
    opened: `opened: ${kinds
      .toSorted()
      .map((kind) => `${kind} 101/payments`)
      .join(', ')}`,
  }),
  trust: notEntirely(...doubts, ...(kinds.length > 0 ? [openly(kinds)] : [])),
})

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

type Change = (db: Warehouse['db']) => Promise<unknown>
const working =
  (command: string, hours?: number): Change =>
  (db) =>
    atWork(db, command, hours).execute()
const revoke: Change = (db) =>
  db
    .updateTable('tenants')
    .set({ revoked_at: ago(20) })
    .where('tenant_id', '=', 101)
    .execute()
const forget: Change = async (db) => {
  for (const table of ['sync_cursors', 'tenants'] as const)
    await db.deleteFrom(table).where('tenant_id', '=', 101).execute()
  const forgotten = { tenant_id: 101, forgotten_at: ago(1) }
  await db.insertInto('sync_forgotten').values(forgotten).execute()
}
const setAside: Change = (db) => {
  const value = {
    tenant_id: 101,
    resource: 'payments',
    record_id: '1',
    path: 'amount_cents',
    value: '12.5',
    reason: 'fraction',
    first_seen_at: ago(0),
    last_seen_at: ago(0),
  }
  return db.insertInto('sync_quarantine').values(value).execute()
}
const setBackToo: Change = (db) =>
  db
    .updateTable('sync_cursors')
    .set({ complete_through_before: ago(2), complete_through: ago(97) })
    .where('tenant_id', '=', 102)
    .execute()

const stale = ill('stale', 'stale, complete 1 d 6 h ago', ['stale'], oldLists('30 hours'))
const notChecked = 'deletions were last checked at MOMENT. Type shopsync reconcile'
const oldFigures = 'tenant 101 no longer grants access, but its old figures are still in every sum'

const cases: Readonly<Record<string, Case>> = {
  proven: { seen: fine('ok') },
  repaired: { cursor: () => ({ completeness: 'repaired', reason: 'doubtful' }), seen: fine('ok') },
  listed: { cursor: () => ({ completeness: 'listed', reason: 'no_true_total' }), seen: fine('ok') },
  'no run has begun it': {
    cursor: () => null,
    seen: ill('never', 'never complete', [], incomplete, unended),
  },
  'begun, and never read to its end': {
    cursor: () => unread,
    seen: ill('never', 'never complete', [], incomplete, unended, unchecked),
  },
  'never read, but a run is at work': {
    cursor: () => unread,
    also: working('sync'),
    seen: fine('loading', underWay, unchecked),
  },
  'never read, but a shard of other tenants is at work': {
    cursor: () => null,
    also: shardAtWork,
    seen: fine('loading', underWay),
  },
  'failed in its first load while a run is at work': {
    cursor: () => ({ ...unread, ...down }),
    also: working('sync'),
    seen: ill('failed', `failed, never complete: ${gone}`, ['failed'], incomplete, underWay, unchecked),
  },
  'unproven, and failed for it': {
    cursor: () => ({ ...down, completeness: 'unproven', reason: 'short' }),
    seen: ill('failed', `failed, complete 2 h ago: ${gone}`, ['unproven'], incomplete),
  },
  'unproven, and not failed': {
    cursor: () => ({ completeness: 'unproven', reason: 'interrupted' }),
    seen: ill('unproven', 'unproven, complete 2 h ago', ['unproven'], incomplete),
  },
  'failed once': {
    cursor: () => down,
    seen: ill('failed', `failed, complete 2 h ago: ${gone}`, ['failed'], incomplete),
  },
  'failing for three days': {
    cursor: () => ({ ...down, ...read(73) }),
    seen: {
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
  },
  stale: { cursor: () => read(30), seen: stale },
  'not yet stale': { cursor: () => read(25), seen: { ...fine('ok'), trust: yes('25 hours') } },
  'stale, but a run has been at work for longer': {
    cursor: () => read(30),
    also: working('sync', 31),
    seen: { ...fine('ok'), trust: yes('30 hours') },
  },
  'stale before the run at work began': { cursor: () => read(30), also: working('sync', 29), seen: stale },
  'stale, and only a listener is at work': {
    cursor: () => read(30),
    also: working('listen', 31),
    seen: stale,
  },
  'complete ahead of the clock': {
    cursor: () => read(-5),
    seen: ill(
      'stale',
      "stale, complete at MOMENT, ahead of this machine's clock: how long ago is unknown",
      ['stale'],
      unended,
    ),
  },
  'complete at a clock that is seconds ahead': {
    cursor: () => ({ ...read(2), last_success_at: ago(-0.015) }),
    seen: fine('ok'),
  },
  'deletions not checked for four days': {
    cursor: () => ({ deletes_checked_at: ago(96) }),
    seen: { ...ill('ok', notChecked, ['deletes_unchecked'], unchecked), isUnchecked: true },
  },
  'deletions never checked': { cursor: () => ({ deletes_checked_at: null }), seen: fine('ok', unchecked) },
  'deletions checked ahead of the clock': {
    cursor: () => ({ deletes_checked_at: ago(-5) }),
    seen: { ...ill('ok', notChecked, ['deletes_unchecked'], unchecked), isUnchecked: true },
  },
  'stale, and deletions not checked for four days': {
    cursor: () => ({ ...read(96), deletes_checked_at: ago(96) }),
    seen: {
      ...ill(
        'stale',
        'stale, complete 4 d ago',
        ['stale', 'deletes_unchecked'],
        oldLists('4 days'),
        unchecked,
      ),
      isUnchecked: true,
    },
  },
  unavailable: {
    cursor: () => ({ ...unread, status: 'unavailable' }),
    seen: {
      ...fine('unavailable'),
      trust:
        'Yes. The data is complete up to 2 hours before this report, without 1 set of records that the source doesn’t offer.',
    },
  },
  'skipped in the last run': { cursor: () => ({ status: 'skipped' }), seen: fine('ok') },
  'owed a whole reading': {
    cursor: () => ({ refill: 'a column was added' }),
    seen: fine(
      'ok',
      '1 of 4 sets of records must be read again in full and may be missing rows until shopsync sync has done that',
    ),
  },
  'set back by a late record': { cursor: () => ({ complete_through_before: ago(1) }), seen: fine('ok') },
  'set back by days, and not read whole since': {
    cursor: () => ({ complete_through_before: ago(2), complete_through: ago(73) }),
    seen: { ...fine('late', `payments ${lateSince(73)}`), headline: `payments ${lateSince(73)}` },
  },
  'set back by days, and failing': {
    cursor: () => ({ ...down, complete_through_before: ago(2), complete_through: ago(73) }),
    seen: ill('failed', `failed, complete 2 h ago: ${gone}`, ['failed'], incomplete),
  },
  'set back by days, and read whole since': {
    cursor: () => ({ complete_through: ago(73) }),
    seen: { ...fine('ok'), trust: yes('3 days') },
  },
  'two lists set back by days': {
    cursor: () => ({ complete_through_before: ago(2), complete_through: ago(73) }),
    also: setBackToo,
    seen: {
      ...fine('late', `payments and customers ${lateSince(97)}`),
      headline: `payments and customers ${lateSince(97)}`,
    },
  },
  // It doesn't affect the exit code of runs, but nothing says that all is well while it is open.
  'a value in quarantine': {
    also: setAside,
    seen: {
      codes: [0, 1],
      state: 'ok',
      opened: 'opened: quarantine 101/payments',
      says: ['open: quarantine since MOMENT: tenant 101, payments: a value or record could not be stored'],
      trust: notEntirely('1 incident is open (values set aside: payments)'),
    },
  },
  'failing, and its tenant is left out by the configuration': {
    cursor: () => down,
    except: [101],
    seen: fine('excepted', incomplete),
  },
  'stale, and its tenant is not granted any more': {
    cursor: () => read(30),
    also: revoke,
    seen: {
      ...ill('revoked', '', [], oldFigures, '1 incident is open (revoked)'),
      opened: 'opened: revoked 101',
      says: [
        'Tenant 101 is no longer granted; its rows are kept. Ask its owner to grant access again, add it to sync.exceptTenants, or type shopsync forget --tenant 101',
      ],
    },
  },
  'not granted any more, and left out by the configuration': {
    also: revoke,
    except: [101],
    seen: fine('excepted', oldFigures),
  },
  'its tenant was forgotten': { also: forget, seen: fine('none') },
}

/** What `status --quiet` says, with the moments left out. */
const linesOf = (text: string): string[] =>
  text
    .trimEnd()
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, 'MOMENT')
    .replaceAll(/^shopsync: status: /gm, '')
    .split('\n')

const states = 'ok stale failed unproven late unavailable never loading revoked excepted'.split(' ')
/** What any face says of late records; empty if nothing. */
const lateIn = (text: string): string =>
  /[a-z_, ]+ may lack late records since \w+ \d+/.exec(text)?.[0].trim() ?? ''

interface Document {
  readonly headline: string
  readonly cursors: readonly {
    readonly tenant_id: number
    readonly resource: string
    readonly state: string
    readonly deletes_unchecked: boolean
  }[]
}

describe.each(warehouses())('$name: the cursor of one list', (kind) => {
  let warehouse: Warehouse
  let configs: (except: readonly number[]) => string
  const pages = scratch()

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
    for (const table of ['sync_alerts', 'sync_quarantine', 'sync_forgotten', 'tenants', 'sync_cursors'])
      await db.deleteFrom(table as 'tenants').execute()
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

  /** The options that metrics and alerts share with the usual configuration. */
  const options = (except: readonly number[]) => ({
    resources,
    exceptTenants: except,
    staleAfterMs: 26 * 3_600_000,
    deletesUncheckedAfterMs: 72 * 3_600_000,
    nowMicros: BigInt(Date.now()) * 1000n,
  })

  /** What the metrics count of the list, and how many incidents. */
  async function counted(
    { cursors }: Document,
    shown: Document['cursors'][number] | undefined,
    except: readonly number[],
  ) {
    const metrics = await metricsOf(warehouse, options(except))
    const others = cursors.filter((one) => one !== shown)
    const own = states.filter(
      (state) => metrics.sum('cursors', { state }) !== others.filter((one) => one.state === state).length,
    )
    const ownUnchecked =
      (metrics.sum('cursors_deletes_unchecked') ?? 0) - others.filter((one) => one.deletes_unchecked).length
    return {
      state: own.join() || 'none',
      isUnchecked: ownUnchecked > 0,
      open: metrics.sum('incidents_open'),
    }
  }

  async function page(except: readonly number[], ...words: string[]): Promise<string> {
    const file = join(pages, 'page.html')
    expect((await shopsync(['report', ...words, '--out', file, '--config', configs(except)])).code).toBe(0)
    return readFileSync(file, 'utf8')
  }

  async function alerted(except: readonly number[]): Promise<string[]> {
    const hook = await receiver()
    const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    world.settings = options(except)
    await world.look()
    return hook
      .take()
      .filter(({ type }) => type === 'opened')
      .map(lineOf)
  }

  async function look({ except = [] }: Case): Promise<Seen> {
    const status = (...words: string[]) => shopsync(['status', ...words, '--config', configs(except)])
    const before = await status('--json')
    const document = before.json<Document>()
    const shown = document.cursors.find(
      ({ tenant_id, resource }) => tenant_id === 101 && resource === 'payments',
    )
    const headline = lateIn(document.headline)
    if (headline !== '')
      expect([(await status()).stdout, await page(except, '--operations')].map(lateIn)).toEqual([
        headline,
        headline,
      ])
    const isUnchecked = shown?.deletes_unchecked ?? false
    const state = shown?.state ?? 'none'
    const opened = await alerted(except)
    const after = await status('--quiet')
    const [trust = ''] = /(?:Yes\.|No:|Not entirely:)[^<]*/.exec(await page(except)) ?? []
    const open = Number(/(\d+) incidents? (?:is|are) open/.exec(trust)?.[1] ?? 0)
    expect(await counted(document, shown, except)).toEqual({ state, isUnchecked, open })
    return {
      codes: [before.code, after.code],
      state,
      ...(headline !== '' && { headline }),
      ...(isUnchecked && { isUnchecked }),
      ...(after.stderr !== '' && { says: linesOf(after.stderr) }),
      ...(opened.length > 0 && { opened: opened.join('; ') }),
      trust,
    }
  }

  it.each(Object.entries(cases))('%s', async (_name, one) => {
    await arrange(one)
    expect(await look(one)).toEqual(one.seen)
  })
})
