/** The stories of wholelists.txt. */
import { resources as declared } from '../../../schema/index.js'
import { Skip } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { plan } from '../../support/harness/commands.js'
import { model } from '../../support/harness/model.js'
import { known, type ListRequest } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusLines, statusOf } from '../../support/harness/status.js'
import { dropViews, type Kind, migrate, open, rowsOf, typed } from '../../support/harness/warehouse.js'
import { compare, expected } from '../../support/oracle/cells.js'
import { between } from '../../support/world/between.js'
import { HandClock } from '../../support/world/clocks.js'
import { fill } from '../../support/world/notes.js'
import { labor, order, part, stamp } from '../../support/world/orders.js'
import { type RunStory, runStories } from '../../support/world/runstory.js'
import { plain, type WordsOf } from '../../support/world/stories.js'

const resources = ['repair_orders', 'customers', 'notes']
const clock = new HandClock('2026-03-01T12:00:00Z', 10n)
const sandbox = await sandboxOfFile({ data: 'none', clock })
const keepsHistory = model(declared, { repair_orders: { history: true } })
let configured = known

/** An order with labors and parts. */
function putOrder(tenant: number, id: number, at = stamp(id * 60)): void {
  const service = { id: id * 10, labors: [labor(id * 10 + 1)], parts: [part(id * 10 + 2, 500)] }
  sandbox.store.put(tenant, 'repair_orders', order(id, [service], { updated_at: at }))
}

const isWhole = ({ updatedAfter }: ListRequest): boolean => updatedAfter.startsWith('0001')
interface Named {
  readonly tenant_id?: unknown
  readonly resource?: unknown
}
const nameOf = ({ tenant_id, resource }: Named): string => `${tenant_id} ${resource}`
const ofOrders = <T extends Named>(lists: readonly T[]): T =>
  lists.find((one) => nameOf(one) === '2 repair_orders')!

/** What each list costs. */
const costs = (lists: readonly (Named & { readonly requests: number })[]): string =>
  lists
    .map((one) => `${nameOf(one)} ${one.requests}`)
    .toSorted()
    .join(', ')

/** The lists that were asked for, in that order. */
let asked: string[] = []

/** Something happens before each request of the next runs. */
const requesting = (happens: (request: ListRequest) => void) =>
  between(async (request, ask) => {
    happens(request)
    return ask()
  })

const words: WordsOf<RunStory> = {
  // And a third one is new.
  'two tenants have lost tables(, with history)?': async (story, history) => {
    configured = history === undefined ? known : keepsHistory
    clock.micros = BigInt(Date.parse('2026-03-01T12:00:00Z')) * 1000n
    await story.begin()
    const { store } = sandbox
    for (const [tenant, orders] of [
      [1, 9],
      [2, 45],
    ] as const) {
      store.addTenant({ id: tenant })
      for (let id = 1; id <= orders; id++) putOrder(tenant, id)
      fill(sandbox, 2, { tenantId: tenant, resource: 'customers' })
      fill(sandbox, 5, { tenantId: tenant })
    }
    story.options = { known: configured }
    const loaded = await story.run({})
    store.addTenant({ id: 3 })
    putOrder(3, 1)
    await dropViews(story.warehouse)
    for (const table of ['repair_order_labors', 'repair_order_parts', 'customer_phones'])
      await typed(story.warehouse, `drop table ${table}`)
    return loaded
  },
  'order N comes': (_, id) => {
    clock.pass(1000)
    putOrder(2, Number(id), fromMicros((clock.nowMicros() / 1_000_000n) * 1_000_000n))
  },
  migrate: async ({ warehouse }) => void (await migrate(warehouse)),
  'N seconds later': (_, seconds) => clock.pass(Number(seconds) * 1000),
  // New records are requested with a later floor, and still come.
  'the whole list of orders is cut at page N': (story, page) => {
    const around = requesting((request) => {
      const isOrders = request.path === 'repair_orders' && request.tenantId === 2
      if (isOrders && isWhole(request) && request.page >= Number(page))
        throw new Skip('cut short', { reason: 'failed' })
    })
    story.options = { pageSizes: [20], readAhead: 0, around }
  },
  'told to end at the whole list of customers': (story) => {
    const stop = new AbortController()
    asked = []
    const around = requesting((request) => {
      const name = `${request.tenantId} ${request.path}${isWhole(request) ? ' whole' : ''}`
      if (asked.at(-1) !== name) asked.push(name)
      if (name === '1 customers whole') stop.abort()
    })
    story.options = { around, signal: stop.signal }
  },
  'nothing is cut': (story) => {
    story.options = {}
  },
  resumes: ({ notices }) => {
    const resumed = notices.filter(([message]) => message === 'Resuming a walk')
    return resumed.map(([, fields]) => plain(fields)).join(' / ') || 'nothing'
  },
  asked: () => asked.join(', '),
  plan: async ({ warehouse }) => {
    const { table_changes, cursors } = await plan(sandbox, warehouse, { resources, readAhead: 1, clock })
    const tables = table_changes.filter(({ what }) => what === 'create table')
    const whole = cursors.flatMap((one) => (one.refill ? `${nameOf(one)} of ${one.refill.records}` : []))
    return `${tables.length} tables to create, whole: ${whole.join(', ')}\n${costs(cursors)}`
  },
  costs: ({ cursors }) => costs(cursors),
  status: async ({ warehouse }) => {
    const report = await statusOf(sandbox, warehouse, { resources, nowMicros: clock.nowMicros() })
    const lines = statusLines(report).filter((line) => line.includes('repair_orders'))
    return [...lines, `complete through ${ofOrders(report.cursors).complete_through}`]
      .join('\n')
      .replaceAll(/ \(2.*?\)/g, ' (…)')
  },
  orders: ({ cursors }) => {
    const { status, watermark } = ofOrders(cursors)
    return `${status}, to ${watermark}`
  },
  'still to read whole': async ({ warehouse }) => {
    const all = (await rowsOf(warehouse, 'sync_cursors')).filter(({ refill }) => refill !== null)
    return all.map(nameOf).toSorted().join(', ') || 'none'
  },
  'ended versions': async ({ warehouse }) => {
    const ended = await rowsOf(warehouse, 'repair_orders_history')
    const how = ended.map(({ _ended_by, _children }) => {
      const { repair_order_labors: labors } = _children as { repair_order_labors: unknown[] }
      return `${_ended_by}, with ${labors.length} labors`
    })
    return `${ended.length} ${[...new Set(how)].join(' / ')}`
  },
  equal: async ({ warehouse }) => void (await compare(warehouse, expected(sandbox))),
}

const placeOn = (kind: Kind) => ({
  open: () => open(kind, configured),
})
runStories('test/engine/run/wholelists.txt', sandbox, { resources, clock }, words, placeOn)
