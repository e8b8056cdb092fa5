/**
 * Makes recommendations and past recommendations. Used by generate.ts and work.ts.
 */
import type { Stamped } from '../records/json.js'
import { REMEDIES } from './catalogue.js'
import { buildService, type Service } from './lines.js'
import { DAY, HOUR, MINUTE, type Moment, print, SECOND } from './moment.js'
import { chooseJobs, type Order } from './order.js'
import type { CannedJob, ShopFacts, World } from './world.js'

const QUICK = [
  'Detail the interior',
  'Replace key fob battery',
  'Touch up paint chip',
  'Clean battery terminals',
  'Reseal windshield trim',
]

/** A quick recommendation has a price and no service. */
export type Recommendation = ReturnType<typeof propose>

/**
 * A technician's recommendations: nearly always for what an inspection rated red, sometimes for yellow, rarely for
 * something else. If `decided`, the customer has responded to most of them a few minutes later.
 */
export function advise(
  world: World,
  shop: ShopFacts,
  order: Order,
  at: Moment,
  decided: boolean,
): Recommendation[] {
  const { random } = world
  const jobs: (CannedJob | null)[] = [...remedies(world, shop, order)]
  if (random.chance(0.03)) jobs.push(null)
  if (random.chance(world.live ? 0.5 : 0.02)) jobs.push(chooseJobs(world, shop, at)[0] ?? null)
  return jobs.map((job, index) => {
    const recommendation = propose(world, shop, order, job, world.live ? at : at + index * 77 * SECOND)
    if (decided && random.chance(0.88))
      decide(world, recommendation, order, at + random.integer(8, 50) * MINUTE)
    return recommendation
  })
}

/** The jobs that would repair what the inspections found, each once, without those already done on this visit. */
function remedies({ random }: World, shop: ShopFacts, order: Order): Set<CannedJob> {
  const done = new Set(order.services.map(({ title }) => title))
  const jobs = new Set<CannedJob>()
  for (const { inspections } of order.services)
    for (const { name, state } of inspections) {
      const title = REMEDIES[name]
      if (title === undefined || done.has(title)) continue
      if (!random.chance(state === 'red' ? 0.92 : state === 'yellow' ? 0.12 : 0)) continue
      const canned = shop.jobs.find(({ job }) => job.title === title)
      if (canned !== undefined) jobs.add(canned)
    }
  return jobs
}

/** Without a job, a small item with a price. */
function propose(world: World, shop: ShopFacts, order: Order, job: CannedJob | null, at: Moment) {
  const { random } = world
  const stamps = world.stamps('recommendations', at)
  const words = job === null ? random.pick(QUICK) : ''
  const price = job === null ? random.integer(4, 60) * 500 : null
  const service = job === null ? {} : buildService(world, shop, job, order.technician_id, at)
  return {
    ...stamps,
    approved: null as boolean | null,
    approver_id: null as number | null,
    approval_at: null as string | null,
    approval_type: null as string | null,
    imported: false,
    repair_order_id: order.id,
    integrator_tags: [],
    description: isService(service) ? (random.chance(0.02) ? null : service.title) : words,
    quick_price_cents: price,
    service,
  }
}

/** The customer approves or declines. An approved service is copied to the order, with new ids. */
function decide(world: World, recommendation: Recommendation, order: Order, at: Moment): void {
  const approved = world.random.chance(0.45)
  const time = print(at)
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

const isService = (service: object): service is Service => 'id' in service

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

/** When the order is closed, a recommendation without approval becomes a past recommendation of the vehicle. */
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
    approval_at: imported ? print(later) : null,
    approval_type: imported ? random.pick(['customer', 'email', 'estimate', 'person', 'phone']) : null,
    imported,
    vehicle_id: order.vehicle_id,
    done,
    recommendation_id: recommendation.id,
  }
  world.emit('past_recommendations', record, done ? later : at)
}
