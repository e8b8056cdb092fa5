/**
 * How working shops maintain what their work depends on: categories, statuses, staff, shops, stock items. Used by
 * work.ts.
 */
import type { ApiRecord, Fields } from '../records/json.js'
import { PARTS } from './catalogue.js'
import { erase, type Task } from './lookup.js'
import type { Moment } from './moment.js'
import { addressOf, ascii } from './settings.js'
import { stockItem } from './stock.js'
import { FIRST_NAMES, LAST_NAMES, STATUSES } from './vocabulary.js'
import type { ShopFacts, World } from './world.js'

interface Kept {
  readonly resource: string
  /** How many spare records there may be: a sandbox that works for weeks must not grow a hundred shops. */
  readonly most: number
  /** Stores a record that no order will use, and returns its id. */
  readonly add: (world: World, shop: ShopFacts, at: Moment) => number
  readonly edit: (world: World, record: ApiRecord) => Fields
}

/**
 * Adds a record, edits any, or removes a spare one. The records that the business was founded with stay, since its
 * orders refer to them. Those that are added here are spare: nothing refers to them.
 */
const keep =
  ({ resource, most, add, edit }: Kept): Task =>
  (world, shop, at) => {
    const { store, tenant, random } = world
    const spare = world.spareOf(resource)
    const kind = random.weighted([spare.size < most ? 0.3 : 0, 0.45, spare.size > 0 ? 0.25 : 0])
    if (kind === 0) {
      spare.add(add(world, shop, at))
      return true
    }
    if (kind === 2) {
      const id = random.pick([...spare])
      spare.delete(id)
      return erase(world, resource, id)
    }
    const ids = store.ids(tenant, resource)
    const record = ids.length === 0 ? undefined : store.stored(tenant, resource, random.pick(ids))
    return record !== undefined && store.change(tenant, resource, record.id, edit(world, record))
  }

const isSpare = (world: World, resource: string, { id }: ApiRecord): boolean =>
  world.spareOf(resource).has(id)

/** Appends the ending, or removes it again. */
const toggled = (value: unknown, ending: string): string => {
  const text = String(value ?? '')
  return text.endsWith(ending) ? text.slice(0, -ending.length) : `${text}${ending}`
}

const CATEGORY_IDEAS = ['Glass', 'Detailing', 'Hybrid & electric', 'Towing', 'Trailers', 'State inspection']

export const keepCategories = keep({
  resource: 'categories',
  most: 3,
  add: (world, _shop, at) => {
    const text = world.random.pick(CATEGORY_IDEAS)
    const record = { ...world.stamps('categories', at), text, integrator_tags: [] }
    world.emit('categories', record, at)
    return record.id
  },
  edit: (_world, { text }) => ({ text: toggled(text, ' (all makes)') }),
})

const STATUS_IDEAS = ['Waiting for insurance', 'On hold', 'Test drive', 'At the body shop']

export const keepStatuses = keep({
  resource: 'statuses',
  most: 2,
  add: (world, _shop, at) => {
    const { random, store, tenant } = world
    const record = {
      ...world.stamps('statuses', at),
      name: random.pick(STATUS_IDEAS),
      color_code: random.pick(STATUSES)[1],
      position: store.count(tenant, 'statuses'),
    }
    world.emit('statuses', record, at)
    return record.id
  },
  edit: ({ random }) => ({ color_code: random.pick(STATUSES)[1] }),
})

/** Applicants are entered before they start, and removed again if they don't. They never work on a car. */
export const keepStaff = keep({
  resource: 'staffs',
  most: 4,
  add: (world, _shop, at) => {
    const { random } = world
    const [first_name, last_name] = [random.pick(FIRST_NAMES), random.pick(LAST_NAMES)]
    const record = {
      ...world.stamps('staffs', at),
      first_name,
      last_name,
      advisor: false,
      technician: false,
      active: false,
      email: `${ascii(first_name)}.${ascii(last_name)}.${world.id('staff email')}@garage.example`,
    }
    world.emit('staffs', record, at)
    return record.id
  },
  edit: (world, record) =>
    isSpare(world, 'staffs', record)
      ? { active: record['active'] !== true }
      : {
          email: `${String(record['email']).split('@')[0]}@${world.random.pick(['', 'mail.'])}garage.example`,
        },
})

/** A shop that is about to open. It isn't among the world's shops, so no car comes to it. */
export const keepShops = keep({
  resource: 'shops',
  most: 1,
  add: (world, { id, city }, at) => {
    const { store, tenant, random } = world
    const stored = store.stored(tenant, 'shops', id)?.['name']
    const name = `${typeof stored === 'string' ? stored : city.name} (opening soon)`
    const record = { ...world.stamps('shops', at), ...addressOf(random, { name, city }) }
    world.emit('shops', record, at)
    return record.id
  },
  edit: ({ random }, { phone }) => ({
    phone: `${String(phone ?? '').slice(0, 5) || '(555)'} 555-0${random.digits(3)}`,
  }),
})

/** Clearance goods: no job uses parts of this brand. */
export const keepStock = keep({
  resource: 'inventories',
  most: 20,
  add: (world, shop, at) => {
    const { store, tenant, random } = world
    const place = { shopId: shop.id, exceptions: store.ids(tenant, 'gp_exceptions'), start: at, until: at }
    return stockItem(world, place, { ...random.pick(PARTS), core: false }, 'Clearance').id
  },
  edit: ({ random }, { cost_cents }) => ({
    cost_cents: Math.max(1, Math.round(Number(cost_cents ?? 0) * (0.96 + random.next() * 0.1))),
  }),
})
