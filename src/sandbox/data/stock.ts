/**
 * Makes the inventory of a shop. Used by settings.ts.
 */
import { PARTS } from './catalogue.js'
import { DAY, HOUR, type Moment, type Stock, type World } from './world.js'

/** The stock of one shop: every part of the catalogue of every brand, some with a core. */
export function stockUp(world: World, shopId: number, exceptions: readonly number[], until: Moment): Stock[] {
  return PARTS.flatMap((part) =>
    part.brands.map((brand): Stock => {
      const cost = Math.round(part.cost * (0.88 + world.random.next() * 0.3))
      const stock = {
        id: world.id('inventories'),
        key: part.key,
        brand,
        description: part.description,
        number: `${brand.slice(0, 2).toUpperCase()}${world.random.digits(5)}`,
        cost,
        price: Math.round((cost * part.markup) / 10) * 10 - 1,
      }
      const core = part.core === true ? world.id('inventories') : null
      emitInventory(
        world,
        shopId,
        stock,
        { isCore: false, core, hazard: part.hazard ?? 'none', exceptions },
        until,
      )
      if (core !== null) emitCore(world, shopId, stock, core, until)
      return stock
    }),
  )
}

interface StockExtras {
  readonly isCore: boolean
  readonly core: number | null
  readonly hazard: string
  readonly exceptions: readonly number[]
}

function emitInventory(world: World, shopId: number, stock: Stock, extras: StockExtras, until: Moment): void {
  const { random } = world
  const { isCore } = extras
  const at = until - random.integer(1, 700) * DAY + random.integer(0, 9 * HOUR)
  const created = at - random.integer(0, 90) * DAY
  const record = {
    ...world.stamps('stamp', created),
    id: stock.id,
    type: isCore ? 'CoreInventory' : 'PartInventory',
    brand: stock.brand,
    description: stock.description,
    number: stock.number,
    list_price_cents: stock.price,
    cost_cents: stock.cost,
    gp_price_cents: Math.round(stock.price * (1 + random.next() * 0.08)),
    gp_optimizer_active: !isCore && random.chance(0.6),
    quantity_on_hand: random.chance(0.1) ? 0 : random.integer(1, 24),
    min_stock: random.integer(0, 4),
    max_stock: random.integer(6, 30),
    hazmat_rating: extras.hazard,
    location: `${random.pick(['A', 'B', 'C', 'D'])}-${random.integer(1, 24)}`,
    misc_info: random.chance(0.1) ? 'Check shelf before ordering' : '',
    part_terminology_id: random.digits(5),
    core_inventory_id: extras.core,
    supplier_extra_points: random.chance(0.1) ? random.integer(1, 50) : 0,
    tags: isCore
      ? []
      : random.sample(['fast mover', 'seasonal', 'consignment', 'OEM'], random.weighted([6, 3, 1])),
    integrator_tags: [],
    primary_vendor_id: random.pick(world.vendorsOf(shopId)),
    last_vendor_id: random.pick(world.vendorsOf(shopId)),
    shop_id: shopId,
    gp_exception_id: !isCore && random.chance(0.2) ? random.pick(extras.exceptions) : null,
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

/** A core is the deposit on the old part: an inventory item of its own, sold at cost. */
function emitCore(world: World, shopId: number, stock: Stock, id: number, until: Moment): void {
  const core = {
    ...stock,
    id,
    description: `Core: ${stock.description}`,
    number: `${stock.number}-C`,
    cost: 2500,
    price: 2500,
  }
  emitInventory(world, shopId, core, { isCore: true, core: null, hazard: 'none', exceptions: [] }, until)
}
