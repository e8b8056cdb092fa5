/** The filters of list requests that the document names, such as `last_name` of customers. Used by lists.ts. */
import { type Micros, parseInstant } from '../instant.js'
import type { ApiRecord } from '../records/json.js'
import type { Store } from '../records/store.js'
import type { TenantCall } from './request.js'
import { invalid } from './response.js'

type Filter = (record: ApiRecord) => boolean
type Maker = (call: TenantCall, store: Store, name: string, value: string) => Filter

export function instantParameter(name: string, value: string): Micros {
  const micros = parseInstant(value)
  if (micros === undefined) throw invalid({ [name]: 'is not an ISO 8601 datetime with a timezone' })
  return micros
}

function integerParameter(name: string, value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw invalid({ [name]: 'is not an integer' })
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

/** Appointments have neither customer nor vehicle; their repair order does. */
const throughOrder: Maker = (call, store, name, value) => {
  const id = integerParameter(name, value)
  return ({ repair_order_id: order }) =>
    typeof order === 'number' && store.get(call.tenant.id, 'repair_orders', order)?.[name] === id
}

const inTime =
  (field: string, fits: (found: Micros, limit: Micros) => boolean): Maker =>
  (_call, _store, name, value) => {
    const limit = instantParameter(name, value)
    return (record) => {
      const found = moment(record[field])
      return found !== undefined && fits(found, limit)
    }
  }

const isDone: Maker = (_call, _store, name, value) => {
  if (value !== 'true' && value !== 'false') throw invalid({ [name]: 'is not true or false' })
  return (record) => record['done'] === (value === 'true')
}

const FILTERS: Readonly<Record<string, Readonly<Record<string, Maker>>>> = {
  appointments: {
    start_after: inTime('start_at', (found, limit) => found > limit),
    end_before: inTime('end_at', (found, limit) => found < limit),
    customer_id: throughOrder,
    vehicle_id: throughOrder,
    shop_id: sameId,
  },
  customers: { last_name: contains, email: contains },
  notes: { repair_order_id: sameId },
  past_recommendations: { done: isDone },
}

/** The documented filters in the query of a list request. */
export function filtersOf(call: TenantCall, store: Store, resource: string): Filter[] {
  return Object.entries(FILTERS[resource] ?? {}).flatMap(([name, make]) => {
    const value = call.query[name]
    return typeof value === 'string' && value !== '' ? [make(call, store, name, value)] : []
  })
}
