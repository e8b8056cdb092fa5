import type { Answer, TenantCall } from '../http/request.js'
import { type Fields, isFields } from '../records/json.js'
import type { Store } from '../records/store.js'
import * as body from './body.js'
import { cannedService } from './estimate.js'

/** What partners write about a repair order: notes, payments, recommendations. */

const noteFields = (store: Store, call: TenantCall) => ({
  repair_order_id: body.required(body.existing(store, call, 'repair_orders')),
  description: body.required(body.filled),
})

export function createNote(store: Store, call: TenantCall): Answer {
  return body.create(store, call, 'notes', body.readBody(call, noteFields(store, call)))
}

export function updateNote(store: Store, call: TenantCall): Answer {
  const id = body.target(store, call, 'notes')
  return body.update(store, call, 'notes', id, body.readBody(call, noteFields(store, call), true))
}

const NAMED = new Set(['Credit Card', 'Other'])
const TYPES = new Set([...NAMED, 'Check', 'Cash'])

const paymentType: body.Check = (value) => {
  if (!isFields(value)) return 'is not an object'
  const { type, name } = value
  if (typeof type !== 'string' || !TYPES.has(type)) return `type is not one of ${[...TYPES].join(', ')}`
  if (name === undefined || name === null || name === '') return undefined
  if (!NAMED.has(type)) return 'name is only for Credit Card and Other'
  const good = typeof name === 'string' && /^[\p{L}\p{N} ]{1,25}$/u.test(name)
  return good ? undefined : 'name is not alphanumeric with at most 25 characters'
}

export function createPayment(store: Store, call: TenantCall): Answer {
  const given = body.readBody(call, {
    amount_cents: body.required(body.integer),
    payment_type_details: body.required(paymentType),
    repair_order_id: body.required(body.existing(store, call, 'repair_orders')),
    notes: body.optional(body.string),
  })
  const details = given['payment_type_details'] as { type: string; name?: string | null }
  const name = details.name === undefined || details.name === '' ? null : details.name
  const payment = {
    payment_type: name === null ? details.type : `${details.type} - ${name}`,
    payment_type_details: { type: details.type, name },
    notes: given['notes'] ?? '',
    amount_cents: given['amount_cents'],
  }
  const orderId = Number(given['repair_order_id'])
  const paid: unknown = store.stored(call.tenant.id, 'repair_orders', orderId)?.['payments']
  store.change(call.tenant.id, 'repair_orders', orderId, {
    payments: [...(Array.isArray(paid) ? (paid as unknown[]) : []), payment],
  })
  return body.create(store, call, 'payments', { repair_order_id: orderId, ...payment, integrator_tags: [] })
}

export function createRecommendation(store: Store, call: TenantCall): Answer {
  const given = body.readBody(call, {
    repair_order_id: body.required(body.existing(store, call, 'repair_orders')),
    description: body.optional(body.string),
    canned_job_id: body.optional(body.existing(store, call, 'canned_jobs')),
  })
  const jobId = given['canned_job_id']
  const job = typeof jobId === 'number' ? store.stored(call.tenant.id, 'canned_jobs', jobId) : undefined
  if (job === undefined && (given['description'] ?? '') === '')
    throw body.invalid({ description: 'or canned_job_id must be present' })
  const order: Fields = store.stored(call.tenant.id, 'repair_orders', Number(given['repair_order_id'])) ?? {}
  return body.create(store, call, 'recommendations', {
    description: job === undefined ? given['description'] : job['title'],
    approved: null,
    approver_id: null,
    approval_at: null,
    approval_type: null,
    imported: false,
    quick_price_cents: null,
    service: job === undefined ? {} : cannedService(store, call, job, order),
    repair_order_id: given['repair_order_id'],
    integrator_tags: [],
  })
}
