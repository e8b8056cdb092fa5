import { type Micros, parseInstant } from '../instant.js'
import type { ApiRecord } from '../records/json.js'
import type { Store } from '../records/store.js'
import { Refusal, type TenantCall } from './request.js'

export type Filter = (record: ApiRecord) => boolean
type Maker = (call: TenantCall, store: Store, name: string, value: string) => Filter

export function instantParameter(name: string, value: string): Micros {
  const micros = parseInstant(value)
  if (micros === undefined)
    throw new Refusal(422, 'Invalid fields', {
      [name]: 'is not an ISO 8601 datetime with a timezone',
    })
  return micros
}

function integerParameter(name: string, value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new Refusal(422, 'Invalid fields', { [name]: 'is not an integer' })
  return Number(value)
}

const moment = (value: unknown): Micros | undefined =>
  typeof value === 'string' ? parseInstant(value) : undefined

const sameId: Maker = (_call, _store, name, value) => {
  const id = integerParameter(name, value)
  return (record) => record[name] === id
}

const contains: Maker = (_call, _store, name, value) => (record) =>
  typeof record[name] === 'string' && record[name].includes(value)

/** An appointment has a customer and a vehicle through its repair order only. */
const throughOrder: Maker = (call, store, name, value) => {
  const id = integerParameter(name, value)
  return ({ repair_order_id: order }) =>
    typeof order === 'number' && store.get(call.tenant.id, 'repair_orders', order)?.[name] === id
}

const startAfter: Maker = (_call, _store, name, value) => {
  const after = instantParameter(name, value)
  return (record) => {
    const start = moment(record['start_at'])
    return start !== undefined && start > after
  }
}

const endBefore: Maker = (_call, _store, name, value) => {
  const before = instantParameter(name, value)
  return (record) => {
    const end = moment(record['end_at'])
    return end !== undefined && end < before
  }
}

const isDone: Maker = (_call, _store, name, value) => {
  if (value !== 'true' && value !== 'false')
    throw new Refusal(422, 'Invalid fields', { [name]: 'is not true or false' })
  return (record) => record['done'] === (value === 'true')
}

const FILTERS: Readonly<Record<string, Readonly<Record<string, Maker>>>> = {
  appointments: {
    start_after: startAfter,
    end_before: endBefore,
    customer_id: throughOrder,
    vehicle_id: throughOrder,
    shop_id: sameId,
  },
  customers: { last_name: contains, email: contains },
  notes: { repair_order_id: sameId },
  past_recommendations: { done: isDone },
}

/** The filters that a list request asks for; empty for a list of everything. */
export function filtersOf(call: TenantCall, store: Store, resource: string): Filter[] {
  return Object.entries(FILTERS[resource] ?? {}).flatMap(([name, make]) => {
    const value = call.query[name]
    return typeof value === 'string' && value !== '' ? [make(call, store, name, value)] : []
  })
}
