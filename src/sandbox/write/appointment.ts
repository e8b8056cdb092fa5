import type { Answer, TenantCall } from '../http/request.js'
import { parseInstant, printInstant } from '../instant.js'
import type { Fields } from '../records/json.js'
import type { Store } from '../records/store.js'
import * as body from './body.js'

const HOUR = 3_600_000_000n

const fields = (store: Store, call: TenantCall) => ({
  staff_id: body.optional(body.existing(store, call, 'staffs')),
  title: body.optional(body.string),
  description: body.optional(body.string),
  start_at: body.required(body.timestamp),
  end_at: body.optional(body.timestamp),
  repair_order_id: body.optional(body.existing(store, call, 'repair_orders')),
  shop_id: body.required(body.existing(store, call, 'shops')),
})

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === ''

function demandSubject(record: Fields): void {
  if (isEmpty(record['title']) && isEmpty(record['repair_order_id']))
    throw body.invalid({ title: 'or repair_order_id must be set', repair_order_id: 'or title must be set' })
}

export function createAppointment(store: Store, call: TenantCall): Answer {
  const given = body.canonicalTimes(body.readBody(call, fields(store, call)))
  demandSubject(given)
  const start = parseInstant(String(given['start_at'])) ?? 0n
  const empty = {
    staff_id: null,
    title: '',
    description: null,
    end_at: printInstant(start + HOUR),
    repair_order_id: null,
  }
  return body.create(store, call, 'appointments', { ...empty, ...given, integrator_tags: [] })
}

export function updateAppointment(store: Store, call: TenantCall): Answer {
  const id = body.target(store, call, 'appointments')
  const given = body.canonicalTimes(body.readBody(call, fields(store, call), true))
  demandSubject({ ...store.stored(call.tenant.id, 'appointments', id), ...given })
  return body.update(store, call, 'appointments', id, given)
}
