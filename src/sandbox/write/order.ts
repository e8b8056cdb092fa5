/**
 * Creates notes, payments and recommendations of repair orders. Used by routes.ts.
 */
import { type HttpResponse, invalid } from '../http/response.js'
import { type Fields, isFields } from '../records/json.js'
import { check, optional, required, type ValueCheck } from './checks.js'
import { cannedService } from './estimate.js'
import type { Write } from './write.js'

/* The writes of partners on repair orders: notes, payments, recommendations. */

const noteFields = (write: Write) => ({
  repair_order_id: required(write.existing('repair_orders')),
  description: required(check.filled),
})

export function createNote(write: Write): HttpResponse {
  return write.create('notes', write.fields(noteFields(write))).response
}

export function updateNote(write: Write): HttpResponse {
  return write.update('notes', write.target('notes'), write.fields(noteFields(write), true))
}

const NAMED = ['Credit Card', 'Other']
const TYPES = [...NAMED, 'Check', 'Cash']

const paymentType: ValueCheck = (value) => {
  if (!isFields(value)) return 'is not an object'
  const { type, name } = value
  const wrong = check.oneOf(TYPES)(type)
  if (wrong !== undefined) return `type ${wrong}`
  if (name === undefined || name === null || name === '') return undefined
  if (!NAMED.includes(String(type))) return 'name is only for Credit Card and Other'
  const good = typeof name === 'string' && /^[\p{L}\p{N}]{1,25}$/u.test(name)
  return good ? undefined : 'name is not of letters and digits alone, at most 25'
}

export function createPayment(write: Write): HttpResponse {
  const given = write.fields({
    amount_cents: required(check.integer),
    payment_type_details: required(paymentType),
    repair_order_id: required(write.existing('repair_orders')),
    notes: optional(check.string),
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
  const paid: unknown = write.stored('repair_orders', orderId)?.['payments']
  write.change('repair_orders', orderId, {
    payments: [...(Array.isArray(paid) ? (paid as unknown[]) : []), payment],
  })
  return write.create('payments', { repair_order_id: orderId, ...payment, integrator_tags: [] }).response
}

export function createRecommendation(write: Write): HttpResponse {
  const given = write.fields({
    repair_order_id: required(write.existing('repair_orders')),
    description: optional(check.string),
    canned_job_id: optional(write.existing('canned_jobs')),
  })
  const job = write.stored('canned_jobs', given['canned_job_id'])
  if (job === undefined && (given['description'] ?? '') === '')
    throw invalid({ description: 'or canned_job_id must be present' })
  const order: Fields = write.stored('repair_orders', given['repair_order_id']) ?? {}
  return write.create('recommendations', {
    description: job === undefined ? given['description'] : job['title'],
    approved: null,
    approver_id: null,
    approval_at: null,
    approval_type: null,
    imported: false,
    quick_price_cents: null,
    service: job === undefined ? {} : cannedService(write, job, order),
    repair_order_id: given['repair_order_id'],
    integrator_tags: [],
  }).response
}
