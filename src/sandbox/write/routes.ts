import { type Answer, notFound, type TenantCall, type TenantOperation } from '../http/request.js'
import type { Store } from '../records/store.js'
import { createAppointment, updateAppointment } from './appointment.js'
import { destroy } from './body.js'
import { createCustomer, updateCustomer } from './customer.js'
import { addCannedJob, removeService } from './estimate.js'
import { createNote, createPayment, createRecommendation, updateNote } from './order.js'
import { createTag, deleteTag, updateTag } from './tag.js'

export interface Write {
  readonly method: string
  /** Below the tenant. */
  readonly path: string
  readonly operation: TenantOperation
}

type Writer = (store: Store, call: TenantCall) => Answer

const WRITES: readonly (readonly [method: string, path: string, resource: string, write: Writer])[] = [
  ['POST', 'appointments', 'appointments', createAppointment],
  ['PUT', 'appointments/:id', 'appointments', updateAppointment],
  ['DELETE', 'appointments/:id', 'appointments', (store, call) => destroy(store, call, 'appointments')],
  ['POST', 'customers', 'customers', createCustomer],
  ['PUT', 'customers/:id', 'customers', updateCustomer],
  ['PUT', 'estimates/:estimate_id/canned_jobs/:canned_job_id', 'repair_orders', addCannedJob],
  ['DELETE', 'estimates/:estimate_id/services/:service_id', 'repair_orders', removeService],
  ['POST', 'integrator_tags', 'integrator_tags', createTag],
  ['PUT', 'integrator_tags/:id', 'integrator_tags', updateTag],
  ['DELETE', 'integrator_tags/:id', 'integrator_tags', deleteTag],
  ['POST', 'notes', 'notes', createNote],
  ['PUT', 'notes/:id', 'notes', updateNote],
  ['POST', 'payments', 'payments', createPayment],
  ['POST', 'recommendations', 'recommendations', createRecommendation],
]

export function writesOf(store: Store): Write[] {
  return WRITES.map(([method, path, resource, write]) => ({
    method,
    path,
    operation: (call) => {
      if (!store.offers(call.tenant, resource)) throw notFound()
      return write(store, call)
    },
  }))
}
