/**
 * Changes as working shops make them: cars come in, estimates become invoices, stock moves. Used by sandbox.ts for
 * `--live`, for the motion `work` in scripts, and for tests.
 */
import { Random } from '../random.js'
import type { ApiRecord } from '../records/json.js'
import { revision } from '../records/sample.js'
import type { Store, StoreChange } from '../records/store.js'
import { advise } from './advice.js'
import { DECLARED_ONLY, makeDeclared } from './declared.js'
import { close, complete, pickUp, start } from './lifecycle.js'
import { erase, orderIn, recent, recentLike, type Task } from './lookup.js'
import { DAY, type Moment } from './moment.js'
import { pay } from './money.js'
import { appoint, note, purchase } from './office.js'
import { type Order, openOrder } from './order.js'
import {
  correctPurchase,
  correctTransaction,
  dropEstimate,
  followUp,
  handOver,
  inquire,
  rememberUnsold,
} from './paperwork.js'
import { customerFor, emitCustomer } from './people.js'
import { keepCategories, keepShops, keepStaff, keepStatuses, keepStock } from './upkeep.js'
import type { ShopFacts, World } from './world.js'

/** Settings, corrections and deletions are rare, as in real shops, so their weights are small. */
const TASKS: readonly (readonly [weight: number, task: Task])[] = [
  [18, arrive],
  [10, makeAppointment],
  [18, startWork],
  [16, finish],
  [10, writeNote],
  [8, editCustomer],
  [10, moveStock],
  [4, buy],
  [5, recommend],
  [3, handOver],
  [2, inquire],
  [1.5, followUp],
  [1.2, correctTransaction],
  [1, correctPurchase],
  [1.2, keepStock],
  [0.8, keepStaff],
  [0.8, keepCategories],
  [0.6, keepStatuses],
  [0.5, keepShops],
  [0.6, dropEstimate],
  [DECLARED_ONLY.length > 0 ? 12 : 0, moveDeclared],
  [2, deleteSomething],
]

const WEIGHTS = TASKS.map(([weight]) => weight)

/** Makes seeded random changes; the sandbox clock stamps them. */
export class Work {
  readonly #random: Random
  #serial = 0

  constructor(
    private readonly store: Store,
    private readonly worlds: ReadonlyMap<number, World>,
    seed: number,
  ) {
    this.#random = new Random(seed + 104_729)
  }

  /** Does `n` things, each with one or a few changes, and returns all changes. */
  do(n: number, tenant?: number): StoreChange[] {
    const changes: StoreChange[] = []
    const stop = this.store.onChange((change) => changes.push(change))
    try {
      for (let i = 0; i < n; i += 1) this.#one(tenant)
    } finally {
      stop()
    }
    return changes
  }

  #one(wanted: number | undefined): void {
    const granted = this.store.tenantIds
    if (wanted === undefined && granted.length === 0) return
    const tenant = wanted ?? this.#random.pick(granted)
    // The tenant's world may be made by this.
    const works = this.store.count(tenant, 'shops') > 0
    const world = this.worlds.get(tenant)
    const shop = world === undefined || world.shops.length === 0 ? undefined : this.#random.pick(world.shops)
    if (world === undefined || shop === undefined || !works) {
      this.#editAnything(tenant)
      return
    }
    world.live = true
    const at = Number(this.store.clock.nowMicros())
    const [, task] = TASKS[this.#random.weighted(WEIGHTS)] ?? [0, arrive]
    if (!task(world, shop, at)) arrive(world, shop, at)
  }

  /** Changes any record of a tenant whose records come from a test: such a tenant has no working shop. */
  #editAnything(tenant: number): void {
    const filled = this.store.resources.filter((resource) => this.store.count(tenant, resource) > 0)
    if (filled.length === 0) return
    const resource = this.#random.pick(filled)
    const id = this.#random.pick(this.store.ids(tenant, resource))
    this.#serial += 1
    this.store.change(tenant, resource, id, revision(this.store, tenant, resource, id, this.#serial))
  }
}

/** Makes, changes or, occasionally, deletes a record of a resource that no other task knows. */
function moveDeclared(world: World, _shop: ShopFacts, at: Moment): boolean {
  const { store, tenant, random } = world
  const resource = random.pick(DECLARED_ONLY)
  const old = recent(world, resource.name)
  const kind = old === undefined ? 0 : random.weighted([0.35, 0.55, 0.1])
  if (old === undefined || kind === 0) makeDeclared(world, resource, at)
  else if (kind === 1) {
    const fields = revision(store, tenant, resource.name, old.id, random.integer(1, 9999))
    store.change(tenant, resource.name, old.id, fields)
  } else store.remove(tenant, resource.name, old.id)
  return true
}

function arrive(world: World, shop: ShopFacts, at: Moment): boolean {
  const known = world.customers.length
  const customer = customerFor(world, shop, at)
  const order = openOrder(world, shop, customer, at)
  if (world.customers.length > known) emitCustomer(world, customer, at)
  else comeBack(world, order, [...customer.shopIds])
  world.open.add(order.id)
  world.emit('repair_orders', order, at)
  return true
}

function comeBack({ store, tenant }: World, order: Order, shop_ids: readonly number[]): void {
  const visited: unknown = store.stored(tenant, 'customers', order.customer_id)?.['shop_ids']
  if (Array.isArray(visited) && visited.length < shop_ids.length)
    store.change(tenant, 'customers', order.customer_id, { shop_ids })
  if (order.odometer !== null)
    store.change(tenant, 'vehicles', order.vehicle_id, { odometer: order.odometer })
}

function makeAppointment(world: World, shop: ShopFacts, at: Moment): boolean {
  appoint(world, shop, null, at, at + world.random.integer(1, 10) * DAY)
  return true
}

function startWork(world: World, _shop: ShopFacts, at: Moment): boolean {
  const order = orderIn(world, 'estimate')
  if (order === undefined) return false
  start(world, order, at)
  world.emit('repair_orders', order, at)
  return true
}

function finish(world: World, _shop: ShopFacts, at: Moment): boolean {
  const order = orderIn(world, 'in_progress')
  if (order === undefined) return false
  const undone = order.services.find(({ completed }) => !completed)
  if (undone !== undefined && order.services.length > 1 && world.random.chance(0.4)) {
    complete(undone, at)
  } else {
    close(world, order, at)
    pay(world, order, at)
    pickUp(order, at)
    rememberUnsold(world, order, at)
    world.open.delete(order.id)
  }
  world.emit('repair_orders', order, at)
  return true
}

function writeNote(world: World, _shop: ShopFacts, at: Moment): boolean {
  const order = orderIn(world, 'estimate', 'in_progress')
  if (order !== undefined) note(world, order, at)
  return order !== undefined
}

function editCustomer(world: World): boolean {
  const customer = recent(world, 'customers')
  if (customer === undefined) return false
  const { random } = world
  const fields = random.chance(0.5)
    ? { address: `${random.integer(1, 9900)} New Address Rd`, zip: random.digits(5) }
    : { marketing_ok: customer['marketing_ok'] !== true, detail: 'Asked to be texted' }
  return world.store.change(world.tenant, 'customers', customer.id, fields)
}

function moveStock(world: World): boolean {
  const id = world.random.pick([0, ...world.store.ids(world.tenant, 'inventories')])
  const stock = world.store.stored(world.tenant, 'inventories', id)
  if (stock === undefined) return false
  const quantity = Number(stock['quantity_on_hand'] ?? 0) + world.random.integer(-3, 6)
  return world.store.change(world.tenant, 'inventories', id, { quantity_on_hand: Math.max(0, quantity) })
}

function buy(world: World, shop: ShopFacts, at: Moment): boolean {
  purchase(world, shop, at)
  return true
}

function recommend(world: World, shop: ShopFacts, at: Moment): boolean {
  const order = orderIn(world, 'in_progress')
  if (order === undefined) return false
  const found = advise(world, shop, order, at, false)
  for (const recommendation of found) world.emit('recommendations', recommendation, at)
  return found.length > 0
}

/** A recommendation of a closed order stays, because a past one may refer to it. */
function deleteSomething(world: World): boolean {
  const resource = world.random.pick(['notes', 'notes', 'appointments', 'recommendations'])
  const isFree = ({ repair_order_id }: ApiRecord): boolean =>
    resource !== 'recommendations' || world.open.has(Number(repair_order_id))
  const record = recentLike(world, resource, isFree)
  return record !== undefined && erase(world, resource, record.id)
}
