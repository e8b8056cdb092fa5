import { type Answer, notFound, type TenantCall } from '../http/request.js'
import { printInstant } from '../instant.js'
import { type ApiRecord, type Fields, isFields } from '../records/json.js'
import type { Store } from '../records/store.js'
import * as body from './body.js'

/** An estimate is a repair order that was not started; any other is not found here. */
function estimate(store: Store, call: TenantCall): { id: number; order: ApiRecord } {
  const id = body.target(store, call, 'repair_orders', 'estimate_id')
  const order = store.stored(call.tenant.id, 'repair_orders', id)
  if (order === undefined || order['state'] !== 'estimate') throw notFound()
  return { id, order }
}

const items = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isFields) : []

export function addCannedJob(store: Store, call: TenantCall): Answer {
  const { id, order } = estimate(store, call)
  const jobId = body.target(store, call, 'canned_jobs', 'canned_job_id')
  const job = store.stored(call.tenant.id, 'canned_jobs', jobId) ?? {}
  const services = [...items(order['services']), cannedService(store, call, job, order)]
  return body.update(store, call, 'repair_orders', id, { services })
}

export function removeService(store: Store, call: TenantCall): Answer {
  const { id, order } = estimate(store, call)
  const services = items(order['services'])
  const kept = services.filter((service) => String(service['id']) !== call.params['service_id'])
  if (kept.length === services.length) throw notFound()
  return body.update(store, call, 'repair_orders', id, { services: kept })
}

/** The canned job as a service, with ids of its own; parts take their words and prices from the inventory. */
export function cannedService(store: Store, call: TenantCall, job: Fields, order: Fields): Fields {
  const time = printInstant(store.stamp())
  const child = (): Fields => ({ id: store.childId(), created_at: time, updated_at: time })
  const rate = items(order['services'])
    .map((service) => service['labor_rate_cents'])
    .find((cents) => typeof cents === 'number')
  return {
    ...child(),
    title: job['title'] ?? '',
    completed: false,
    category_id: job['category_id'] ?? null,
    canned_job_id: job['id'] ?? null,
    comment: '',
    labor_rate_cents: rate ?? null,
    completed_at: null,
    last_completed_at: null,
    labors: items(job['labors']).map((labor) => ({
      ...labor,
      ...child(),
      technician_id: order['technician_id'] ?? null,
    })),
    parts: items(job['parts']).map((part) => ({
      ...part,
      ...stockFields(store, call, part['part_inventory_id']),
      ...child(),
    })),
    hazmats: items(job['hazmats']).map((hazmat) => ({ ...hazmat, ...child() })),
    sublets: items(job['sublets']).map((sublet) => ({ ...EMPTY_SUBLET, ...sublet, ...child() })),
    inspections: items(job['inspections']).map((inspection) => ({
      ...inspection,
      ...child(),
      state: 'unchecked',
      detail: '',
    })),
  }
}

const EMPTY_SUBLET = {
  cost_cents: 0,
  provider: '',
  invoice_number: '',
  description: '',
  vendor_id: null,
  invoice_date: null,
}

function stockFields(store: Store, call: TenantCall, id: unknown): Fields {
  const stock = typeof id === 'number' ? store.stored(call.tenant.id, 'inventories', id) : undefined
  return {
    brand: stock?.['brand'] ?? '',
    description: stock?.['description'] ?? '',
    number: stock?.['number'] ?? '',
    quoted_price_cents: stock?.['list_price_cents'] ?? 0,
    cost_cents: stock?.['cost_cents'] ?? 0,
  }
}
