/**
 * What the report says of businesses made by hand (handmade.txt, of businesses.txt): what it compares, which periods it offers,
 * what it calls many businesses, and what it leaves empty; and the operator's page of a warehouse in which all is well, and of
 * one in which it isn't.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { done, shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { restoreTimeOfDay, setTimeOfDay } from '../../support/harness/shiftedclock.js'
import { root } from '../../support/harness/tree.js'
import { type Kind, reopen } from '../../support/harness/warehouse.js'
import { type Fields, order, payment, stamps } from '../../support/world/handmade.js'
import {
  fieldsOf,
  idsOf,
  jsonOr,
  Steps,
  storyTests,
  type WordsOf,
  wordsOf,
} from '../../support/world/stories.js'
import { itIs, makeReport, Page } from './reportpage.js'

const now = '2026-11-18T18:00:00Z'
itIs(now)

type Store = Sandbox['store']

const put = (store: Store, tenant: number | string | undefined, list: string, record: Fields): void =>
  store.put(Number(tenant), list, record)

const noon = (day: unknown): string => `${day}T12:00:00Z`
const oct = noon('2026-10-03')

/** What businesses.txt says of a business. */
const businessWords: WordsOf<Store> = {
  'N has shops IDS called WORD': (store, tenant, ids = '', name) => {
    for (const id of idsOf(ids))
      put(store, tenant, 'shops', {
        id,
        ...stamps(noon('2026-08-20')),
        time_zone: 'UTC',
        name: `${name} ${id}`,
      })
  },
  'N has (customers|staffs) N REST': (store, tenant, list = '', id, fields = '') =>
    put(store, tenant, list, { id: Number(id), ...stamps(noon('2026-08-20')), ...JSON.parse(fields) }),
  'N has order N[ REST]': (store, tenant, id, text = '') => {
    const { closed, hours, paid, ...more } = fieldsOf(wordsOf(text))
    const n = Number(id)
    const payments = paid === undefined ? [] : [payment(n, n, noon('2026-10-29'), paid)]
    const fields = { vehicle_id: n, payments, ...more }
    put(store, tenant, 'repair_orders', order(n, closed ? noon(closed) : null, fields, hours as number))
  },
  'order N of N also has REST': (store, id, tenant, service = '') => {
    const { services, ...others } = store.get(Number(tenant), 'repair_orders', Number(id)) as Fields
    const more = [...(services as Fields[]), JSON.parse(service)]
    put(store, tenant, 'repair_orders', { ...others, services: more })
  },
  'N has appointment N at N[ of order N]': (store, tenant, id, hour, of) =>
    put(store, tenant, 'appointments', {
      id: Number(id),
      ...stamps(noon('2026-11-15')),
      title: `Visit ${id}`,
      shop_id: 1,
      staff_id: 1,
      start_at: `2026-11-18T${hour}:00:00Z`,
      end_at: `2026-11-18T${hour}:30:00Z`,
      repair_order_id: of === undefined ? null : Number(of),
    }),
  'N has payment N of order N in shop WORD': (store, tenant, id, of, shop = '') => {
    const paid = payment(Number(id), Number(of), noon('2026-10-29'), 700)
    put(store, tenant, 'payments', { ...paid, shop_id: jsonOr(shop) })
  },
  'N sold N hours in shop N on REST': (store, tenant, hours, shop, days = '') => {
    for (const [i, day] of days.split(' ').entries()) {
      const id = 100 * Number(shop) + i
      const fields = { shop_id: Number(shop), vehicle_id: id }
      put(store, tenant, 'repair_orders', order(id, noon(`2026-${day}`), fields, Number(hours)))
    }
  },
  'cars IDS came to shop WORD of N on WORD': (store, cars = '', shop = '', tenant = '', day) => {
    const shop_id = jsonOr(shop)
    for (const car of idsOf(cars)) {
      const id = store.count(Number(tenant), 'repair_orders') + 1
      const of = { shop_id, technician_id: shop_id, vehicle_id: car, customer_id: car, created_at: noon(day) }
      put(store, tenant, 'repair_orders', order(id, noon(day), of))
    }
  },
  'IDS are there': (store, tenants = '') => {
    for (const id of idsOf(tenants)) store.addTenant({ id })
  },
  'IDS has the shops TEXT': (store, tenants = '', names = '') => {
    for (const tenant of idsOf(tenants))
      for (const [i, name] of names.split(' | ').entries()) {
        const shop = { id: i + 1, created_at: oct, updated_at: oct, time_zone: 'UTC' }
        put(store, tenant, 'shops', name === 'nameless' ? shop : { ...shop, name })
        put(store, tenant, 'repair_orders', order(i + 1, oct, { shop_id: i + 1 }, tenant - 100))
      }
  },
}

/** Each business, by what it is called. */
const sources: Record<string, Sandbox> = {}
for (const part of readFileSync(join(root, 'test/features/report/businesses.txt'), 'utf8')
  .split(/^# /m)
  .slice(1)) {
  const [name = '', ...lines] = part.split('\n').filter((line) => line !== '')
  const source = await sandboxOfFile()
  await new Steps(businessWords).play(source.store, lines)
  sources[name] = source
}

/** The day of each business's first invoice; the others are on the second of each month. 104 has none. */
const first: Readonly<Record<number, string>> = { 101: '2024-01-02', 102: '2026-11-10', 103: '2026-03-02' }
const seconds = Array.from({ length: 36 }, (_, i) =>
  new Date(Date.UTC(2024, i, 2)).toISOString().slice(0, 10),
)

/** What has happened by a day, and nothing else. */
function putUntil({ store }: Sandbox, day: string): void {
  for (const [tenant, from] of Object.entries(first).map(([id, from]) => [Number(id), from] as const))
    for (const [i, one] of [...new Set([from, ...seconds])].filter((some) => some >= from).entries()) {
      const at = `${one}T12:00:00Z`
      const isThere = store.get(tenant, 'repair_orders', i + 1) !== undefined
      if (isThere && one >= day) store.remove(tenant, 'repair_orders', i + 1)
      if (!isThere && one < day)
        store.put(tenant, 'repair_orders', order(i + 1, at, { started_at: at, updated_at: at }))
    }
}

const lists = ['appointments', 'customers', 'payments', 'repair_orders', 'shops', 'staffs']

/** A warehouse that has what the source sends by now. */
async function synced(kind: Kind, sandbox: Sandbox) {
  const address = await kind.viewed()
  const { store } = sandbox
  const resources = lists.filter((one) => store.tenantIds.some((tenant) => store.count(tenant, one) > 0))
  const report = { timeZone: 'UTC', tenantNames: { 110: 'Configured' } }
  const config = configure(sandbox, address, resources, { report })
  await done(config, 'sync')
  return { address, config }
}

const evil = '<script>alert(1)</script>'
const operated = await sandboxOfFile({ tenants: 2, repairOrders: 6, seed: 5 })

/** The operator's page after a good run, and after one that met faults, for a configuration that names another source. */
async function operatorsPages(kind: Kind): Promise<Record<string, Page>> {
  // It compares moments of this machine with those of Postgres.
  restoreTimeOfDay()
  const address = await kind.viewed()
  const configured = (api: object): string =>
    configure(operated, address, ['notes', 'customers', 'shops'], { targets: { notes: 'PT15M' }, api })
  const made = async (code: number, api = {}): Promise<Page> => {
    const config = configured({ concurrency: 1, retry: { attempts: 2, base: 'PT0.01S', max: 'PT0.02S' } })
    const synced = await shopsync(['sync', '--config', config])
    expect(synced.code, synced.stdout + synced.stderr).toBe(code)
    const file = join(scratch(), 'page.html')
    await done(configured(api), 'report', '--operations', '--out', file)
    return new Page(readFileSync(file, 'utf8').replaceAll(operated.url, 'SOURCE'))
  }
  const when = { resource: 'customers' }
  operated.script([{ when, fault: { kind: 'fields', name: 'novelty', value: 1 } }])
  const good = await made(0)
  const { store } = operated
  for (const tenant of [101, 102])
    for (const id of store.ids(tenant, 'customers')) store.change(tenant, 'customers', id, {})
  operated.script([
    { when, fault: { kind: 'fields', name: evil, value: evil } },
    { when, fault: { kind: 'alter', path: 'marketing_ok', to: 'maybe' } },
    { when: { tenant: 101, resource: 'notes' }, fault: { kind: 'status', status: 500 } },
  ])
  return { good, bad: await made(1, { baseUrl: 'http://127.0.0.1:9' }) }
}

interface Reader {
  /** The warehouse of each source, and how it is configured. */
  readonly places: ReadonlyMap<string, Awaited<ReturnType<typeof synced>>>
  readonly operators: () => Promise<Record<string, Page>>
  readonly pages: Map<string, Page>
  page: Page
}

async function read(reader: Reader, source = '', tenants = ''): Promise<void> {
  const { config } = reader.places.get(source)!
  const asked = `${source} ${tenants}`
  const scope = tenants
    .split(' ')
    .filter(Boolean)
    .flatMap((id) => ['--tenant', id])
  reader.page = reader.pages.get(asked) ?? (await makeReport(config, ...scope)).page
  reader.pages.set(asked, reader.page)
  expect(/NaN|undefined|Infinity/.exec(reader.page.html)).toBeNull()
}

const inLines = (rows: readonly (readonly string[])[]): string =>
  rows.map((cells) => cells.join(' | ')).join('\n') || 'nothing'

/** Without what differs between two runs: when they began, and how long they took. */
const timeless = (text: string): string =>
  text
    .replaceAll(/[A-Z]\w\w \d+, \d{4}, \d\d:\d\d/g, 'MOMENT')
    .replaceAll(/\d{8}T\d{6}-\w+/g, ' RUN')
    .replaceAll(/\b[\d.]+ m?s\b/g, 'DURATION')
    .replaceAll(/oldest [^·]+ ·/g, 'oldest AGE ·')

const words: WordsOf<Reader> = {
  'the report of WORD': read,
  'the report of WORD on IDS': read,
  "the operator's page after a WORD run": async (reader, how = '') => {
    reader.page = (await reader.operators())[how]!
  },
  'it is WORD': async (reader, day = '') => {
    const { config } = reader.places.get('monthly')!
    setTimeOfDay(Date.parse(`${day}T09:00:00Z`))
    putUntil(sources.monthly!, day)
    await done(config, 'sync')
    reader.pages.clear()
  },
  'the data of N in WORD ends on WORD': async (reader, tenant, source = '', day) => {
    const warehouse = await reopen(reader.places.get(source)!.address)
    const ended = { complete_through: `${day}T12:00:00.000000Z` }
    const cursors = warehouse.db.updateTable('sync_cursors').set(ended)
    await cursors.where('tenant_id', '=', Number(tenant)).execute()
    await warehouse.close()
    reader.pages.clear()
  },
  'headings( of parts)?': ({ page }, parts) => page.headings(parts ? '3' : '23').join('\n'),
  headline: ({ page }) => timeless(/<p class="headline">(.*?)<\/p>/.exec(page.html)?.[1] ?? ''),
  'table WORD': ({ page }, id = '') => timeless(inLines(page.table(id))),
  'head of WORD': ({ page }, id = '') => (page.table(id)[0] ?? []).join(' | ') || 'nothing',
  'column WORD: TEXT': ({ page }, id = '', head = '') => page.column(id, head).join(' | ') || 'nothing',
  'title of WORD': ({ page }, id = '') => page.title(id),
  'caption of WORD': ({ page }, id = '') => page.caption(id),
  'choices of a scope': ({ page }) => page.choices('scope').join(' | ') || 'none',
  'answer of WORD': ({ page }, id = '') =>
    page.card(id).answer.replace(/up to .* before/, 'up to AGE before'),
  'remarks of WORD': ({ page }, id = '') => page.card(id).remarks,
  'WORD: TEXT': ({ page }, id = '', label = '') =>
    (page.card(id).facts.get(label) ?? ['nothing']).join(' | '),
  'parts WORD': ({ page }, beginning = '') => page.ids(beginning).join(' ') || 'none',
  'how many scripts': ({ page }) => String(page.html.split('<script').length - 1),
  'say REST': ({ page }, text = '') => (page.html.includes(text) ? 'yes' : 'no'),
  'what changed in WORD': ({ page }, id = '') => (page.part(id).includes('%') ? 'yes' : 'nothing'),
  /** Each period with what its sales are compared with, and the months of the pace. */
  'periods of N': ({ page }, tenant) => {
    const periods = ['last-month', 'month-to-date', 'last-12-months'].filter((id) =>
      page.has(`${tenant}-figures-${id}`),
    )
    const told = periods.map((id) => {
      const sales = page.card(`${tenant}-month-${id}`).facts.get('Sales') ?? []
      const label = page.title(`${tenant}-figures-${id}`).replace('Every figure, ', '')
      return [label, ...sales.flatMap((text) => / vs\. (.*)$/.exec(text)?.[1] ?? [])]
    })
    const [, ...pace] = page.has(`${tenant}-pace`) ? (page.table(`${tenant}-pace`)[0] ?? []) : []
    return inLines([...told, ['pace', ...pace]])
  },
}

storyTests('test/features/report/handmade.txt', new Steps(words), (kind) => {
  const places = new Map<string, Awaited<ReturnType<typeof synced>>>()
  const pages = new Map<string, Page>()
  let made: Promise<Record<string, Page>> | undefined
  beforeAll(async () => {
    setTimeOfDay(Date.parse(now))
    putUntil(sources.monthly!, '2024-01-01')
    for (const [name, source] of Object.entries(sources)) places.set(name, await synced(kind, source))
  })
  return () => {
    setTimeOfDay(Date.parse(now))
    return { places, pages, page: undefined as never, operators: () => (made ??= operatorsPages(kind)) }
  }
})
