/**
 * A change that a run makes first, on a table that the database doesn't let be changed: the lists whose rows go there wait,
 * with the reason and what to type, and every other list goes on.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { Desk } from '../../support/harness/desk.js'
import { startImpatient } from '../../support/harness/relays.js'
import type { CursorReport } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import {
  bothWarehouses,
  claimLease,
  contents,
  dropViews,
  type Kind,
  lookAgain,
  migrate,
  reopen,
  rowsOf,
  typed,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { type AtDesk, deskWords, Steps, storyTests, type WordsOf } from '../../support/world/stories.js'
import { fillAsThen, keptWarehouse } from '../../support/world/upgrades.js'

const sandbox = await sandboxOfFile()
const lists = ['customers', 'notes']
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()
const put = (name: string, id: number): void =>
  sandbox.store.put(1, name, { ...template(name, id, at(id * 600)), nick: `n${id}` })
const key = Buffer.alloc(32, 3).toString('base64')

/** A way to the server on which nothing waits long for a lock. */
async function impatient(url: string): Promise<string> {
  return (await startImpatient(url)).url
}

interface Kept extends AtDesk {
  readonly kind: Kind
  /** Straight to its server. */
  readonly url: string
  /** Who types, and what a program that stays up has open. */
  look: Warehouse
  /** What the last run said of each list. */
  cursors: readonly CursorReport[]
  holder?: pg.Client
  claimed?: unknown
}

/** `to`: the way of the program to its server. */
async function begun(
  kind: Kind,
  names: readonly string[] = lists,
  to = async (url: string) => url,
): Promise<Kept> {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  sandbox.store.tenant(1).strings.set('customer_payment_types', ['Cash'])
  for (const name of names) if (name !== 'customer_payment_types') for (const id of [1, 2]) put(name, id)
  const address = await kind.viewed()
  const desk = new Desk(sandbox, { ...address, url: await to(address.url) }, names)
  await desk.done('sync')
  return { kind, url: address.url, desk, said: '', cursors: [], look: await reopen(address) }
}

/** Of what is told, who is in the way, and what to type. */
const blamed = (text: string): string => {
  const all = /drop trigger guard|add column nick text|\S+ \(pid \d+\) holds a lock on it|column \w+\.\w+ is/i
  return (all.exec(text)?.[0] ?? text).toLowerCase().replace(/pid \d+/, 'pid N')
}

/** The settings of customers, and other sections. */
function settings(text: string): object {
  const { privacy, report, ...customers } = JSON.parse(text.replace('KEY', key)) as Record<string, object>
  return { resources: { customers }, privacy, report }
}

const views = ['dim_customers', 'purchases']
const structure = async ({ look }: Kept) => [await look.dialect.catalog.liveColumns(), await contents(look)]

const words: WordsOf<Kept> = {
  ...deskWords,
  // One database writes its types in capitals.
  'says REST': async (story, text) =>
    String(await deskWords['says REST']!(story, text!)).replaceAll('TEXT', 'text'),
  'config REST': ({ desk }, text) => desk.set(settings(text!)),
  'record N comes': (_, id) => {
    for (const name of lists) put(name, Number(id))
  },
  // Somebody's trigger that raises whenever a row is updated.
  guard: ({ kind, look }) =>
    typed(
      look,
      kind.name === 'sqlite'
        ? `create trigger guard before update on customers begin select raise(abort, 'no'); end`
        : `create or replace function stop() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
           create trigger guard before update on customers for each row execute function stop()`,
    ),
  'no guard': ({ kind, look }) =>
    typed(look, kind.name === 'sqlite' ? 'drop trigger guard' : 'drop trigger guard on customers'),
  'type REST': ({ kind, look }, text) =>
    typed(look, text!.replace('CASCADE', kind.name === 'postgres' ? 'cascade' : '')),
  'WORD\\.WORD becomes another': async ({ kind, look }, table, column) => {
    await dropViews(look)
    await typed(look, `alter table ${table} rename column ${column} to kept_aside_${column}`)
    await typed(
      look,
      `alter table ${table} add column ${column} ${kind.name === 'sqlite' ? 'BLOB' : 'bytea'}`,
    )
  },
  'what is told is typed': async ({ look, cursors }) => {
    const told = cursors.map(
      ({ error }) => /type: (alter table [^;.]*(?:\.[^;.]*)?)\. Then/.exec(error ?? '')?.[1],
    )
    await dropViews(look)
    for (const one of new Set(told)) if (one !== undefined) await typed(look, one)
  },
  // It changes nothing.
  check: async (story) => {
    const before = await structure(story)
    const { code, json } = await story.desk.run('check --json')
    const { checks } = json<{ checks: { what: string; ok: boolean; hint: string | null }[] }>()
    expect(await structure(story)).toEqual(before)
    const wrong = checks.filter(({ ok }) => !ok).map(({ what, hint }) => `, ${what}: ${blamed(String(hint))}`)
    return `exit ${code}${wrong.join('')}`
  },
  'while a run is at work, check': async (story) => {
    const lease = await claimLease(story.look, { runId: 'another', command: 'sync', leaseMs: 60_000 })
    return Promise.resolve(words['check']!(story)).finally(() => lease.release())
  },
  '(sync(?: --shard \\d/\\d)?|verify)': async (story, command) => {
    const ended = await story.desk.run(`${command} --json`)
    story.cursors = ended.json<{ cursors: CursorReport[] }>().cursors
    const each = story.cursors.map(async ({ resource, status, completeness, reason, requests, error }) => {
      const why =
        error === null ? '' : ` ${completeness ?? ''} ${reason}, ${requests} requests: ${blamed(error)}`
      return `${resource} ${status}${why}, ${(await rowsOf(story.look, resource)).length} stored`
    })
    return [`exit ${ended.code}`, ...new Set((await Promise.all(each)).toSorted())].join('\n')
  },
  'no views': async ({ look }) => {
    for (const view of views) await typed(look, `drop view ${look.dialect.views().relation(view)}`)
  },
  views: async ({ look }) => {
    const live = await look.dialect.views().live((query) => look.db.executeQuery(query))
    return views.filter((view) => live.has(view)).join(' ') || 'no view'
  },
  emails: async ({ look }) => {
    const theirs = new Set(sandbox.store.all(1, 'customers').map(({ email }) => email))
    const stored = await rowsOf(look, 'customers')
    return `${stored.filter(({ email }) => theirs.has(email)).length} as the source has them`
  },
  'it (migrates|looks again)': ({ look }, does) => (does === 'migrates' ? migrate(look) : lookAgain(look)),
  'it finds': ({ look }) => blamed(look.interfered.unchanged(['notes'])?.message ?? 'nothing'),
  'a warehouse of 0.2.0': async (story) => {
    sandbox.reset()
    fillAsThen(sandbox)
    const address = await keptWarehouse(story.kind)
    story.look = await reopen(address)
    const { db } = story.look
    await story.look.write([db.updateTable('sync_source').set({ base_url: sandbox.url }).compile()])
    story.desk = new Desk(sandbox, address, [...lists, 'shops'])
  },
  'an idle transaction holds REST': async (story, statement) => {
    const holder = new pg.Client({ connectionString: story.url, application_name: 'somebody' })
    await holder.connect()
    await holder.query('begin; set local idle_in_transaction_session_timeout = 0')
    await holder.query(statement!)
    story.holder = holder
  },
  'it ends': ({ holder }) => holder!.end(),
  'the lease is (remembered|the same)': async (story, what) => {
    const run = (await rowsOf(story.look, 'sync_lease')).find(({ name }) => name === 'run')
    if (what === 'the same') expect(run?.claimed_at).toEqual(story.claimed)
    story.claimed = run?.claimed_at
  },
}

const steps = new Steps(words)
const together = (kind: Kind) => {
  let story: Kept
  beforeAll(async () => {
    story = await begun(kind, [...lists, 'repair_orders', 'customer_payment_types'])
  })
  return () => ({ ...story })
}
storyTests('test/engine/warehouse/keptback.txt', steps, together, bothWarehouses())
// What doesn't depend on the database.
storyTests('test/engine/warehouse/keptbackabove.txt', steps, together)

const postgres = bothWarehouses().filter(({ name }) => name === 'postgres')
const alone = (kind: Kind) => () => begun(kind, lists, impatient)
storyTests('test/engine/warehouse/keptback.postgres.txt', steps, alone, postgres)

describe.each(postgres)('$name', (kind) => {
  it('a change of a table lets readers pass, and names the one that holds it, without what it reads', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen({ ...address, url: await impatient(address.url) })
    const reader = (application_name: string) =>
      new pg.Client({ connectionString: address.url, application_name })
    const [holding, other] = [reader('metabase'), reader('grafana')]
    await holding.connect()
    await other.connect()
    const notes = `"${address.schema}".notes`
    await holding.query(`alter table ${notes} drop column description`)
    await holding.query(`begin; select count(*) from ${notes} where _synced_at::text = 'a secret'`)
    const { rows } = await holding.query('select pg_backend_pid() as pid')
    const failed = migrate(warehouse)
    // With a transaction that waits for the lock, each further reader would wait, too.
    await other.query("set statement_timeout = '9s'")
    let isOver = false
    void failed.then(() => {
      isOver = true
    })
    while (!isOver) {
      await other.query(`select count(*) from ${notes}`)
      await sleep(5)
    }
    expect(await failed).toEqual([])
    const [error] = warehouse.interfered.allUnchanged()
    expect(error?.hint).toMatch(
      new RegExp(
        `^metabase \\(pid ${rows[0].pid}\\) holds a lock on it, in a transaction since \\d{4}-.*: end that session`,
      ),
    )
    expect(`${error?.message} ${error?.hint}`).not.toContain('a secret')
    await holding.query('rollback')
    expect(await migrate(warehouse)).toMatchObject([{ table: 'notes', column: { name: 'description' } }])
    await holding.end()
    await other.end()
  })
})
