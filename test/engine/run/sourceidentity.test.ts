/** The stories of sourceidentity.txt. */
import { template } from '../../../src/sandbox/index.js'
import { adoptBy, plan, replay, verify, why } from '../../support/harness/commands.js'
import { type RunOptions, sync, type Target } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusOf } from '../../support/harness/status.js'
import { addLateness, contents, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'
import { SkippingClock } from '../../support/world/clocks.js'
import { EventBench } from '../../support/world/events.js'
import { runStories } from '../../support/world/runstory.js'
import { fieldsOf, idsOf, plain, wordsOf } from '../../support/world/stories.js'

const resources = ['customers', 'notes']
const own = await sandboxOfFile({ data: 'none', partnerId: '42' })
const other = await sandboxOfFile({ data: 'none', partnerId: '42' })
const empty = await sandboxOfFile({ data: 'none' })
const { url, partnerId, secret } = own
const sources: Readonly<Record<string, Target>> = {
  own,
  other,
  empty,
  'another partner': { url, secret, partnerId: '43' },
  'another path': { url: `${url}/other`, secret, partnerId },
}

/** Without ports, which are others each time. */
const named = (text: string): string =>
  text.replaceAll(own.url, '<own>').replaceAll(other.url, '<other>').replaceAll(empty.url, '<empty>')

/** Everything that queries the API, each as a command would. */
const askers: Readonly<
  Record<string, (source: Target, warehouse: Warehouse, options: RunOptions) => Promise<unknown>>
> = {
  sync: async (source, warehouse, options) => {
    const { status, requests, rows_deleted, cursors } = await sync(source, warehouse, options)
    const read = cursors.map(({ records }) => records).join(' and ')
    return `${status}, ${requests} requests, ${read || 'nothing'} read, ${rows_deleted} deleted`
  },
  verify: async (source, warehouse, options) => (await verify(source, warehouse, options)).status,
  plan: async (source, warehouse, options) => `${(await plan(source, warehouse, options)).requests} requests`,
  'quarantine replay': (...given) => replay(...given),
  // A listener's.
  turn: async (source, warehouse, options) => {
    const events = await EventBench.open(source, warehouse)
    const ended = events.turn(options).finally(() => events.inbox.close())
    return plain(await ended)
  },
}

/** What is here. */
let before = ''
const state = async (warehouse: Warehouse): Promise<string> => {
  const tables = ['sync_cursors', 'sync_runs', 'sync_source'].map((table) => rowsOf(warehouse, table))
  return JSON.stringify([await contents(warehouse), await Promise.all(tables)])
}

runStories(
  'test/engine/run/sourceidentity.txt',
  own,
  { resources },
  {
    // Each a minute after the one before.
    '(own|other): IDS[ from minute N]': (_, name, ids, minute = '0') => {
      const { store } = sources[name!] as typeof own
      store.addTenant({ id: 1 })
      for (const resource of resources)
        for (const id of idsOf(ids!)) {
          const at = new Date(Date.UTC(2026, 0, 1, 0, Number(minute) + id)).toISOString()
          store.put(1, resource, template(resource, id, at))
        }
    },
    // In an empty warehouse.
    'all new': async (story) => {
      other.reset()
      await story.begin()
    },
    '(sync|verify|plan|quarantine replay|turn) by (own|other|empty|another partner|another path)(.*)': async (
      { warehouse },
      command,
      name,
      how,
    ) => {
      // Versions that went back are requested twice, a few seconds apart.
      const options = { resources, clock: new SkippingClock(), ...fieldsOf(wordsOf(how!)) }
      try {
        return String(await askers[command!]!(sources[name!]!, warehouse, options))
      } catch (error) {
        const { name: kind, message } = error as Error
        return `${kind}: ${named(message)}`
      }
    },
    'sync by own, with a slash': (story) => story.run({ baseUrl: `${url}/` }),
    look: async ({ warehouse }) => {
      before = await state(warehouse)
      other.resetRequests()
    },
    'look again': async ({ warehouse }) =>
      `${before === (await state(warehouse)) ? 'all as before' : 'changed'}, ${other.requests.length} requests to other`,
    'why by other': async ({ warehouse }) => {
      const { belongs_to, rows } = await why(other, warehouse, { id: 3 })
      const { since: _, ...of } = belongs_to!
      const told = rows.map(({ state, source }) => `${state}, ${source.answer}`).join(' / ')
      return `${named(plain(of))}: ${told}`
    },
    'status by (own|other)': async ({ warehouse }, name) => {
      const now = { resources, staleAfterMs: 1e9, nowMicros: BigInt(Date.now()) * 1000n }
      const { healthy, belongs_to } = await statusOf(sources[name!] as typeof own, warehouse, now)
      return `healthy: ${healthy}, configured: ${belongs_to?.configured}`
    },
    'adopt other(, and keep)?': async ({ warehouse }, keeps) => {
      const { changed, from, to } = await adoptBy(other, warehouse, { keeps: keeps !== undefined })
      return named(`changed ${changed}, from ${from?.base_url} to ${to.base_url}`)
    },
    source: async ({ warehouse }) => {
      const rows = await rowsOf(warehouse, 'sync_source')
      const told = rows.map(({ base_url, partner_id, probe, lists_from }) =>
        plain({ base_url, partner_id, probe, lists_from }),
      )
      return named(told.join() || 'none')
    },
    // What a probe, an interrupted walk, and late records leave behind.
    'leave more behind': async ({ warehouse }) => {
      const { db } = warehouse
      const at = '2026-01-01T00:00:00.000Z'
      const probed = { probe: '{"order":"newest first"}', probed_at: at, lists_from: '1970' }
      const part = { tenant_id: 1, resource: 'notes', fills: 0, part: 9, ids: '1', entered: '' }
      const late = { resource: 'notes', day: '2026-01-01', way: 'walk' } as const
      await warehouse.write([
        db.updateTable('sync_source').set(probed).compile(),
        db.insertInto('sync_walk_parts').values(part).compile(),
        ...addLateness(db, late, [{ upToMs: 1, records: 1, largestMicros: 1000 }]),
      ])
    },
  },
)
