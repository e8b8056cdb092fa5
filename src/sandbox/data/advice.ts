import { buildService, chooseJobs } from './order.js'
import type { Order, Service, Stamped } from './shape.js'
import { DAY, HOUR, MINUTE, type Moment, SECOND, type ShopFacts, text, type World } from './world.js'

interface Verdict {
  approved: boolean | null
  approver_id: number | null
  approval_at: string | null
  approval_type: string | null
}

export interface Recommendation extends Stamped, Verdict {
  description: string | null
  imported: boolean
  quick_price_cents: number | null
  service: Service | Record<string, never>
  repair_order_id: number
  integrator_tags: unknown[]
}

const QUICK = [
  'Detail the interior',
  'Replace key fob battery',
  'Touch up paint chip',
  'Clean battery terminals',
  'Reseal windshield trim',
]

const undecided: Verdict = { approved: null, approver_id: null, approval_at: null, approval_type: null }

/** What the technician found besides: often nothing. Decided ones were decided some minutes later. */
export function advise(
  world: World,
  shop: ShopFacts,
  order: Order,
  at: Moment,
  decided: boolean,
): Recommendation[] {
  const count = world.random.weighted([0.62, 0.27, 0.11])
  return Array.from({ length: count }, (_, index) => {
    const recommendation = propose(world, shop, order, world.live ? at : at + index * 77 * SECOND)
    if (decided && !world.random.chance(0.3))
      decide(world, recommendation, order, at + world.random.integer(5, 50) * MINUTE)
    return recommendation
  })
}

function propose(world: World, shop: ShopFacts, order: Order, at: Moment): Recommendation {
  const { random } = world
  const base = {
    ...world.stamps('recommendations', at),
    ...undecided,
    imported: false,
    repair_order_id: order.id,
    integrator_tags: [],
  }
  const [canned] = chooseJobs(world, shop, at)
  if (canned === undefined || random.chance(0.25))
    return {
      ...base,
      description: random.pick(QUICK),
      quick_price_cents: random.integer(4, 60) * 500,
      service: {},
    }
  const service = buildService(world, shop, canned, order.technician_id, at)
  return {
    ...base,
    description: random.chance(0.02) ? null : service.title,
    quick_price_cents: null,
    service,
  }
}

/** Approved work becomes a service of the order, with ids of its own. */
function decide(world: World, recommendation: Recommendation, order: Order, at: Moment): void {
  const approved = world.random.chance(0.45)
  const time = text(at)
  Object.assign(recommendation, {
    approved,
    approver_id: approved ? order.customer_id : null,
    approval_at: approved ? time : null,
    approval_type: approved ? world.random.pick(['customer', 'email', 'person', 'phone', 'phone']) : null,
    updated_at: time,
  })
  if (!approved || !isService(recommendation.service)) return
  recommendation.imported = true
  order.services.push(copyService(world, recommendation.service, at))
}

const isService = (service: Recommendation['service']): service is Service => 'id' in service

function copyService(world: World, service: Service, at: Moment): Service {
  const anew = <T extends Stamped>(kind: string, items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, ...world.stamps(kind, at) }))
  return {
    ...service,
    ...world.stamps('service', at),
    labors: anew('labor', service.labors),
    parts: anew('part', service.parts),
    hazmats: anew('hazmat', service.hazmats),
    sublets: anew('sublet', service.sublets),
    inspections: anew('inspection', service.inspections),
  }
}

/** What was not sold when the order was closed comes up again at the next visit. */
export function remember(
  world: World,
  order: Order,
  recommendation: Recommendation,
  at: Moment,
  until: Moment,
): void {
  if (recommendation.approved === true) return
  const { random } = world
  const later = at + random.integer(30, 300) * DAY + random.integer(0, 5 * HOUR)
  const done = later < until && random.chance(0.3)
  const imported = done && random.chance(0.6)
  const record = {
    ...world.stamps('past_recommendations', at),
    description: recommendation.description ?? 'Recommended service',
    approved: imported ? true : recommendation.approved,
    approver_id: imported ? order.customer_id : null,
    approval_at: imported ? text(later) : null,
    approval_type: imported ? random.pick(['customer', 'email', 'estimate', 'person', 'phone']) : null,
    imported,
    vehicle_id: order.vehicle_id,
    done,
    recommendation_id: recommendation.id,
  }
  world.emit('past_recommendations', record, done ? later : at)
}
