/** A backfill that is cut short again and again: what is done stays done, until everything is. The stories of resumed.txt. */
import { systemClock } from '../../../src/engine/base/clock.js'
import { template } from '../../../src/sandbox/index.js'
import { type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'
import { between } from '../../support/world/between.js'
import { at } from '../../support/world/notes.js'
import { Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile()
const tenants = [1, 2, 3, 4, 5, 6]

/** What each tenant's cursor, or each with the same, is told to be. */
function grouped(of: readonly (readonly [tenant: unknown, told: string])[]): string {
  const all = new Map<string, unknown[]>()
  for (const [tenant, told] of of) all.set(told, [...(all.get(told) ?? []), tenant])
  return [...all].map(([told, who]) => `${who.join(' ')} ${told}`).join(', ')
}

/** One backfill of the records below `to`, one cursor after the other. `after`: how many list requests until it is interrupted. */
async function backfill(warehouse: Warehouse, to = '241', after?: string, options: RunOptions = {}) {
  const stop = new AbortController()
  const lists: number[] = []
  const around = between(({ tenantId }, ask) => {
    if (lists.length >= Number(after ?? Number.POSITIVE_INFINITY)) stop.abort()
    else lists.push(Number(tenantId))
    return ask()
  })
  const ranges = [{ from: at(7), to: at(7 * Number(to)) }]
  const usual = { resources: ['notes'], concurrency: 1, ranges, signal: stop.signal, around } as const
  const report = await sync(sandbox, warehouse, { ...usual, ...options, mode: 'backfill' })
  return { ...report, lists }
}

/** How it ended for each tenant, and how often it requested each one's list. */
function told({ cursors, lists }: Awaited<ReturnType<typeof backfill>>): string {
  const ended = cursors.map(
    ({ tenant_id, status, completeness, records }) =>
      [tenant_id, `${status} ${completeness} with ${records}`] as const,
  )
  const asked = [...new Set(lists)].map(
    (tenant) => [tenant, `${lists.filter((one) => one === tenant).length} times`] as const,
  )
  return `${grouped(ended)}; asks for ${grouped(asked) || 'nothing'}`
}

const words: WordsOf<Warehouse> = {
  'backfill[ to N][ of tenant N][ until request N](?:, N days (ago|ahead))?': async (warehouse, ...found) => {
    const [to, tenant, after, days, where] = found
    const shift = BigInt(days ?? 0) * 86_400_000_000n * (where === 'ago' ? -1n : 1n)
    const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + shift }
    const only = tenant === undefined ? null : [Number(tenant)]
    return told(await backfill(warehouse, to, after, { clock, tenants: only }))
  },
  'backfills until one is whole, each until request N(?:, (limited in time))?': async (
    warehouse,
    after,
    time,
  ) => {
    const lists: number[] = []
    for (let runs = 1; runs < 20; runs++) {
      const one = await backfill(warehouse, '241', after, { timeLimited: time !== undefined })
      lists.push(...one.lists)
      if (one.status === 'ok') return `${runs} of them; ${told({ ...one, lists })}`
    }
    return 'none is'
  },
  'hide N of N': (_, id, tenant) =>
    void sandbox.store.collection(Number(tenant), 'notes').odd.hidden.add(Number(id)),
  'heal N': (_, tenant) => sandbox.store.collection(Number(tenant), 'notes').odd.heal(),
  kept: async (warehouse) =>
    (await rowsOf(warehouse, 'sync_backfills')).map(({ tenant_id }) => tenant_id).join(' ') || 'none',
  stored: async (warehouse) => `${(await rowsOf(warehouse, 'notes')).length} notes`,
}

storyTests('test/features/backfill/resumed.txt', new Steps(words), (kind) => {
  const stock = kept(kind)
  return () => {
    sandbox.reset()
    for (const id of tenants) {
      sandbox.store.addTenant({ id })
      for (let n = 1; n <= 300; n++) sandbox.store.put(id, 'notes', template('notes', n, at(n * 7)))
    }
    return stock.open()
  }
})
