/**
 * Adds canned jobs to estimates and removes services. Used by routes.ts and order.ts.
 */
import { type HttpResponse, notFound } from '../http/response.js'
import { printInstant } from '../instant.js'
import { type ApiRecord, type Fields, isFields } from '../records/json.js'
import type { Write } from './write.js'

/** The repair order at an estimate's path. Throws 404 for one that was started. */
function estimate(write: Write): { id: number; order: ApiRecord } {
  const id = write.target('repair_orders', 'estimate_id')
  const order = write.stored('repair_orders', id)
  if (order === undefined || order['state'] !== 'estimate') throw notFound()
  return { id, order }
}

const items = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isFields) : []

export function addCannedJob(write: Write): HttpResponse {
  const { id, order } = estimate(write)
  const job = write.stored('canned_jobs', write.target('canned_jobs', 'canned_job_id')) ?? {}
  const services = [...items(order['services']), cannedService(write, job, order)]
  return write.update('repair_orders', id, { services })
}

export function removeService(write: Write): HttpResponse {
  const { id, order } = estimate(write)
  const services = items(order['services'])
  const kept = services.filter((service) => String(service['id']) !== write.call.params['service_id'])
  if (kept.length === services.length) throw notFound()
  return write.update('repair_orders', id, { services: kept })
}

/** A service made from the canned job, with new ids; its parts take texts and prices from the inventory. */
export function cannedService(write: Write, job: Fields, order: Fields): Fields {
  const time = printInstant(write.store.stamp())
  const child = (): Fields => ({ id: write.store.childId(), created_at: time, updated_at: time })
  const copies = (name: string, more: (item: Fields) => Fields = () => ({})): Fields[] =>
    items(job[name]).map((item) => ({ ...item, ...more(item), ...child() }))
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
    labors: copies('labors', () => ({ technician_id: order['technician_id'] ?? null })),
    parts: copies('parts', (part) => stockFields(write.stored('inventories', part['part_inventory_id']))),
    hazmats: copies('hazmats'),
    sublets: copies('sublets', (sublet) => ({ ...EMPTY_SUBLET, ...sublet })),
    inspections: copies('inspections', () => ({ state: 'unchecked', detail: '' })),
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

const stockFields = (stock: Fields = {}): Fields => ({
  brand: stock['brand'] ?? '',
  description: stock['description'] ?? '',
  number: stock['number'] ?? '',
  quoted_price_cents: stock['list_price_cents'] ?? 0,
  cost_cents: stock['cost_cents'] ?? 0,
})
