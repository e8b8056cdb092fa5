/** The shops' own work produces all kinds of events, and nothing that they do leaves a reference without its record. */
import { beforeAll, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import type { Member } from '../../schema/resource.js'
import { EVENT_NAMES } from '../../src/sandbox/index.js'
import { isFields } from '../../src/sandbox/records/json.js'
import { eventOf, isRecordList, TAGGABLE } from '../../src/sandbox/records/resources.js'
import { emptySandbox, noon, request, shop } from '../support/harness/requests.js'
import { sized } from '../support/harness/size.js'
import { HandClock } from '../support/world/clocks.js'
import { receiver } from './receiver.js'

const small = () =>
  emptySandbox({ data: 'generated', repairOrders: 60, clock: new HandClock(noon, 1_000_000n) })

const foundedLists = ['shops', 'staffs', 'statuses', 'categories', 'inventories']
/** Shops that have worked for long: what they were founded with, and what they changed. */
async function shopsAtWork() {
  const { store, work } = await small()
  const founded = foundedLists.map((name) => [name, store.ids(101, name)] as const)
  return { store, founded, changes: work(sized(3000, 5000)) }
}
let worked: ReturnType<typeof shopsAtWork>
beforeAll(() => {
  worked = shopsAtWork()
})

it('there are 36 kinds of events, and working shops cause all of them', async () => {
  expect(EVENT_NAMES.length).toBe(36)
  const { changes } = await worked
  const kinds = new Set(changes.map(({ resource, action }) => eventOf(resource, action)?.name))
  expect(EVENT_NAMES.filter((name) => !kinds.has(name))).toEqual([])
})

/** Every id in the value that refers to a record of a list, with the name of the list. */
function* references(member: Member, value: unknown): Generator<readonly [list: string, id: number]> {
  if (member.type === 'field') {
    const list = member.references
    if (list !== undefined && isRecordList(list) && typeof value === 'number') yield [list, value]
  } else if (member.type === 'scalars') {
    if (Array.isArray(value)) for (const item of value) yield* references(member.of, item)
  } else
    for (const item of Array.isArray(value) ? value : [value])
      if (isFields(item))
        for (const [name, inner] of Object.entries(member.fields)) yield* references(inner, item[name])
}

it('events refer to existing records, however long the shops have worked', async () => {
  const { store } = await worked
  const known = new Map(store.resources.map((name) => [name, new Set(store.ids(101, name))]))
  const lost: string[] = []
  let found = 0
  for (const resource of store.resources)
    for (const record of store.all(101, resource))
      for (const [name, member] of Object.entries(resources[resource]!.fields))
        for (const [list, id] of references(member, record[name])) {
          found += 1
          if (!known.get(list)!.has(id)) lost.push(`${resource} ${record.id}: ${list} ${id}`)
        }
  for (const { id, taggable_type, taggable_id } of store.all(101, 'integrator_tags'))
    if (!known.get(TAGGABLE.get(String(taggable_type))!)!.has(taggable_id as number))
      lost.push(`integrator_tags ${id}: ${taggable_type} ${taggable_id}`)
  expect(lost).toEqual([])
  expect(found).toBeGreaterThan(1000)
})

it('working shops leave the shops, staff, stock and categories of the business as they were founded', async () => {
  const { store, founded } = await worked
  for (const [name, ids] of founded) expect(store.ids(101, name)).toEqual(expect.arrayContaining(ids))
  const used = new Set(store.all(101, 'repair_orders').map(({ shop_id }) => shop_id))
  expect(founded[0]![1]).toEqual(expect.arrayContaining([...used]))
})

it('working shops announce what partners write, and leave their records to them', async () => {
  const { url, received } = await receiver()
  const sandbox = await small()
  await request(sandbox, '/webhooks', { method: 'POST', body: { url, events: EVENT_NAMES } })
  const { body } = await shop(sandbox, 'customers', { method: 'POST', body: { last_name: 'Ours' } })
  const tag = { taggable_type: 'Shop', taggable_id: 1, name: 'a', value: 'b' }
  expect((await shop(sandbox, 'integrator_tags', { method: 'POST', body: tag })).status).toBe(201)
  await sandbox.delivered()
  expect(received.map(({ event }) => event.event)).toEqual(['customer.created', 'shop.updated'])
  sandbox.work(100)
  await sandbox.delivered()
  expect(sandbox.store.get(101, 'customers', body.id)).toMatchObject({ last_name: 'Ours' })
})
