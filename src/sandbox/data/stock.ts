/**
 * Makes the inventory of a shop. Used by settings.ts and upkeep.ts.
 */
import { type CataloguePart, CORE_CENTS, markupOf, PARTS } from './catalogue.js'
import { DAY, HOUR, type Moment } from './moment.js'
import type { Stock, World } from './world.js'

interface Furnishing {
  readonly shopId: number
  readonly exceptions: readonly number[]
  /** When the stock was last counted and priced. */
  readonly start: Moment
  readonly until: Moment
}

/** The stock of one shop, by part key: every part in the catalogue of every brand, some with a core. */
export function stockUp(world: World, place: Furnishing): Map<string, Stock[]> {
  return new Map(
    PARTS.map((part) => [part.key, part.brands.map((brand) => stockItem(world, place, part, brand))]),
  )
}

export function stockItem(world: World, place: Furnishing, part: CataloguePart, brand: string): Stock {
  const { random } = world
  const cost = Math.round(part.cost * (0.88 + random.next() * 0.3))
  const id = world.id('inventories')
  const optimized = Math.round((cost * markupOf(part.key, part.cost)) / 10) * 10 - 1
  const isOptimized = random.chance(0.93)
  const list = Math.round((optimized * (1 + random.next() * 0.08)) / 10) * 10 - 1
  const stock = {
    id,
    key: part.key,
    brand,
    description: part.description,
    number: `${brand.slice(0, 2).toUpperCase()}${random.digits(5)}`,
    cost,
    price: isOptimized ? optimized : list,
    core: part.core === true ? world.id('inventories') : null,
  }
  const prices = { list, optimized, isOptimized }
  emitInventory(world, place, stock, { ...prices, isCore: false, hazard: part.hazard ?? 'none' })
  if (stock.core !== null) emitCore(world, place, stock, stock.core)
  return stock
}

interface StockExtras {
  readonly isCore: boolean
  readonly hazard: string
  readonly list: number
  readonly optimized: number
  /** Whether it is sold at the optimizer's price. */
  readonly isOptimized: boolean
}

function emitInventory(world: World, place: Furnishing, stock: Stock, extras: StockExtras): void {
  const { random } = world
  const { shopId, exceptions, start, until } = place
  const { isCore } = extras
  const counted = Math.max(start, until - random.integer(1, 700) * DAY) + random.integer(0, 9 * HOUR)
  const at = world.live ? start : counted
  const created = world.live ? start : at - random.integer(0, 90) * DAY
  const record = {
    ...world.stamps('stamp', created),
    id: stock.id,
    type: isCore ? 'CoreInventory' : 'PartInventory',
    brand: stock.brand,
    description: stock.description,
    number: stock.number,
    list_price_cents: extras.list,
    cost_cents: stock.cost,
    gp_price_cents: extras.optimized,
    gp_optimizer_active: extras.isOptimized,
    quantity_on_hand: random.chance(0.1) ? 0 : random.integer(1, 24),
    min_stock: random.integer(0, 4),
    max_stock: random.integer(6, 30),
    hazmat_rating: extras.hazard,
    location: `${random.pick(['A', 'B', 'C', 'D'])}-${random.integer(1, 24)}`,
    misc_info: random.chance(0.1) ? 'Check shelf before ordering' : '',
    part_terminology_id: random.digits(5),
    core_inventory_id: stock.core,
    supplier_extra_points: random.chance(0.1) ? random.integer(1, 50) : 0,
    tags: isCore
      ? []
      : random.sample(['fast mover', 'seasonal', 'consignment', 'OEM'], random.weighted([6, 3, 1])),
    integrator_tags: [],
    primary_vendor_id: random.pick(world.vendorsOf(shopId)),
    last_vendor_id: random.pick(world.vendorsOf(shopId)),
    shop_id: shopId,
    gp_exception_id: !isCore && exceptions.length > 0 && random.chance(0.2) ? random.pick(exceptions) : null,
    partsplatform_part_id: `PP-${random.digits(8)}`,
    ...quantities(random.integer(0, 2), random.integer(0, 1)),
  }
  world.emit('inventories', record, at)
}

const quantities = (needed: number, ordered: number) => ({
  quantity_in_progress: needed,
  quantity_needed: needed,
  quantity_ordered: ordered,
  quantity_ordered_for_stock: ordered * 2,
  quantity_returned: 0,
})

/** A core is the deposit on the old part: a separate inventory item, sold at cost. */
function emitCore(world: World, place: Furnishing, stock: Stock, id: number): void {
  const core = {
    ...stock,
    id,
    core: null,
    description: `Core: ${stock.description}`,
    number: `${stock.number}-C`,
    cost: CORE_CENTS,
    price: CORE_CENTS,
  }
  const prices = { list: CORE_CENTS, optimized: CORE_CENTS, isOptimized: false }
  emitInventory(world, place, core, { ...prices, isCore: true, hazard: 'none' })
}
