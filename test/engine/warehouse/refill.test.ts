/**
 * A table contains what its watermark claims. What was dropped is created and filled again by the next run, with a walk
 * of the whole list, even if the walk is killed. What the program has learned is filled from `_extra`.
 */
import { beforeAll, expect } from 'vitest'
import { resources } from '../../../schema/index.js'
import { type Shape, scalars, text } from '../../../schema/resource.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { template } from '../../../src/sandbox/index.js'
import { copied } from '../../support/harness/clones.js'
import { model } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { known, type ListRequest, type RunOptions, type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusLines, statusOf } from '../../support/harness/status.js'
import {
  bothWarehouses,
  contents,
  type Kind,
  migrate,
  reopen,
  rowsOf,
  typed,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { between } from '../../support/world/between.js'
import { shown } from '../../support/world/runstory.js'
import { Steps, storyTests, type WordsOf, wordsOf } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile()
const chosen = ['customers', 'notes', 'integrator_tags']
/** Two pages. */
const records = 13
const pageSizes = [10]
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

beforeAll(() => {
  for (const tenant of [1, 2]) {
    sandbox.store.addTenant({ id: tenant })
    for (let id = 1; id <= records; id++) {
      const customer = { ...template('customers', id, at(id)), phones: [{ number: `${id}` }] }
      sandbox.store.put(tenant, 'customers', { ...customer, nickname: `the ${id}th`, hobbies: ['chess'] })
      sandbox.store.put(tenant, 'notes', template('notes', id, at(id)))
      if (id <= 3) sandbox.store.put(tenant, 'integrator_tags', template('integrator_tags', id, at(id)))
    }
  }
})

const list = { table: 'hobbies', column: 'hobby', key: 'position', of: text('Hobby.') } as const
const more: Shape = { nickname: text('Nickname.'), hobbies: scalars(list, 'Hobbies.') }
const customers = resources['customers']!
/** Of a later version of the program, which declares more fields of customers. */
const later = model({ ...resources, customers: { ...customers, fields: { ...customers.fields, ...more } } })

/** A warehouse that has been synced, of which something is lost. */
interface Refilled {
  readonly kind: Kind
  address: Address
  warehouse: Warehouse
  /** Which page of which tenant, or which request, is asked for when something is dropped. */
  moment: ((request: ListRequest, asked: number) => boolean) | undefined
  /** Of the program. */
  known: Model
}

const run = (warehouse: Warehouse, options: RunOptions = {}): Promise<RunReport> =>
  sync(sandbox, warehouse, { resources: chosen, pageSizes, ...options })

const demands = async (warehouse: Warehouse) =>
  (await rowsOf(warehouse, 'sync_cursors')).filter(({ refill }) => refill !== null)

/** Somebody drops something, and the next run makes it again. */
const loses = async (warehouse: Warehouse, what = 'drop table customer_phones') => {
  await typed(warehouse, what)
  return migrate(warehouse)
}

/** How it ended for each list, with the requests for each tenant. */
const told = ({ cursors }: RunReport): string =>
  chosen
    .map((resource) => {
      const [first, ...rest] = cursors.filter((cursor) => cursor.resource === resource)
      const { status, completeness, reason } = first!
      const requests = [first!, ...rest].map((cursor) => cursor.requests).join(' ')
      return `${resource} ${wordsOf(`${status} ${completeness} ${reason ?? ''}`).join(' ')} ${requests}`
    })
    .join(', ')

const templates = new Map<string, { readonly address: Address; readonly contents: unknown }>()
/** Of each kind, once. */
async function synced(kind: Kind) {
  const made = templates.get(kind.name)
  if (made) return made
  const address = await kind.migrated()
  const first = await reopen(address)
  await run(first)
  templates.set(kind.name, { address, contents: await contents(first) })
  await first.close()
  return templates.get(kind.name)!
}

const words: WordsOf<Refilled> = {
  'lose REST': async ({ warehouse }, what) => void (await loses(warehouse, what)),
  'type REST': ({ warehouse }, what) => typed(warehouse, what!),
  'migrate as a later program': async (story) => {
    story.known = later
    story.warehouse = await reopen(story.address, later)
    const changes = await migrate(story.warehouse)
    return changes.map(({ table, what }) => `${table}: ${what.toLowerCase()}`).join(', ')
  },
  'as if all had been known from the beginning': async ({ kind, warehouse, known }) => {
    const fresh = await reopen(kind.address(), known)
    await migrate(fresh)
    await run(fresh, { known })
    expect(await contents(warehouse, known)).toEqual(await contents(fresh, known))
  },
  'a warehouse that is empty': async (story) => {
    story.address = await story.kind.migrated()
    story.warehouse = await reopen(story.address)
  },
  'customer_phones are dropped before request N for customers': (story, n) => {
    story.moment = (_, asked) => asked === Number(n)
  },
  'customer_phones are dropped before page N of tenant N': (story, page, tenant) => {
    story.moment = (request) => request.tenantId === Number(tenant) && request.page === Number(page)
  },
  'page N of customers[ of tenant N] is refused': (_, page, tenant) => {
    const when = {
      resource: 'customers',
      page: Number(page),
      tenant: tenant === undefined ? undefined : Number(tenant),
    }
    sandbox.script([{ when, fault: { kind: 'status', status: 403 } }])
  },
  'no rules': () => sandbox.script([]),
  'run[ (full|reconcile)][ in pages of N]': async (story, mode, size) => {
    const { warehouse, address, known } = story
    const notices: [string, Record<string, unknown>][] = []
    const other = await reopen(address)
    let asked = 0
    const around = between(async (request, ask) => {
      if (request.path === 'customers' && story.moment?.(request, ++asked)) {
        story.moment = undefined
        await loses(other)
      }
      return ask()
    })
    const slow = { around, concurrency: 1, readAhead: 0, known }
    const options = { ...slow, notices, mode: (mode ?? 'sync') as 'full' }
    const report = await run(warehouse, size ? { ...options, pageSizes: [Number(size)] } : options)
    await other.close()
    const isResumed = notices.some(([message]) => message === 'Resuming a walk')
    return `${told(report)}${isResumed ? ', resuming a walk' : ''}`
  },
  'what is read again': async ({ warehouse }) =>
    [...new Set((await demands(warehouse)).map(({ resource }) => resource))].join(' ') || 'nothing',
  'which lists are read again': async ({ warehouse }) =>
    (await demands(warehouse)).map(({ tenant_id, resource }) => `${tenant_id} ${resource}`).join(', ') ||
    'none',
  'show WORD REST': ({ warehouse }, table, columns) => shown(warehouse, table!, columns!),
  registers: async ({ warehouse }) => {
    const kept = await rowsOf(warehouse, 'sync_registers')
    return `registers of ${kept.map(({ resource, tenant_id }) => `${resource} ${tenant_id}`).join(', ')}`
  },
  phones: async ({ warehouse }) => `${(await rowsOf(warehouse, 'customer_phones')).length} phones`,
  'as it was': async ({ warehouse, kind }) =>
    expect(await contents(warehouse)).toEqual((await synced(kind)).contents),
  'walk of customers of tenant 1': async ({ warehouse }) => {
    const cursors = await rowsOf(warehouse, 'sync_cursors')
    const { refill, walk } = cursors.find((row) => row.tenant_id === 1 && row.resource === 'customers')!
    const { mode, refill: known } = walk as { mode: string; refill: string | null }
    return `a ${mode} walk, that knows of ${known ?? 'no refill'}; it is ${refill === null ? 'not ' : ''}read again`
  },
  status: async ({ warehouse }) => {
    const nowMicros = BigInt(Date.now()) * 1000n
    const lines = statusLines(await statusOf(sandbox, warehouse, { resources: chosen, nowMicros }))
    return lines
      .filter((line) => line.includes('!'))
      .join(' ')
      .replace(/ \(2.*?\)/, ' (…)')
  },
}

const steps = new Steps(words)
const begin = (kind: Kind) => {
  beforeAll(() => synced(kind))
  return async () => {
    const address = await copied((await synced(kind)).address)
    return { kind, address, warehouse: await reopen(address), moment: undefined, known }
  }
}
storyTests('test/engine/warehouse/refill.txt', steps, begin, bothWarehouses())
// For what is above the dialects.
storyTests('test/engine/warehouse/refilled.txt', steps, begin)
