import { type HttpResponse, invalid } from '../http/response.js'
import { parseInstant, printInstant } from '../instant.js'
import type { Fields } from '../records/json.js'
import { check, optional, required } from './checks.js'
import type { Write } from './write.js'

const HOUR = 3_600_000_000n

function read(write: Write, partial = false): Fields {
  const given = write.fields(
    {
      staff_id: optional(write.existing('staffs')),
      title: optional(check.string),
      description: optional(check.string),
      start_at: required(check.timestamp),
      end_at: optional(check.timestamp),
      repair_order_id: optional(write.existing('repair_orders')),
      shop_id: required(write.existing('shops')),
    },
    partial,
  )
  return { ...given, ...canonical(given, 'start_at'), ...canonical(given, 'end_at') }
}

/** Requests may use any timezone; responses print UTC. */
function canonical(given: Fields, name: string): Fields {
  const micros = typeof given[name] === 'string' ? parseInstant(given[name]) : undefined
  return micros === undefined ? {} : { [name]: printInstant(micros) }
}

function demandSubject(record: Fields): void {
  if ((record['title'] ?? '') === '' && (record['repair_order_id'] ?? '') === '')
    throw invalid({ title: 'or repair_order_id must be set', repair_order_id: 'or title must be set' })
}

export function createAppointment(write: Write): HttpResponse {
  const given = read(write)
  demandSubject(given)
  const start = parseInstant(String(given['start_at'])) ?? 0n
  const empty = {
    staff_id: null,
    title: '',
    description: null,
    end_at: printInstant(start + HOUR),
    repair_order_id: null,
  }
  return write.create('appointments', { ...empty, ...given, integrator_tags: [] }).response
}

export function updateAppointment(write: Write): HttpResponse {
  const id = write.target('appointments')
  const given = read(write, true)
  demandSubject({ ...write.stored('appointments', id), ...given })
  return write.update('appointments', id, given)
}
