import type { TenantCall } from '../http/request.js'
import { type HttpResponse, notFound } from '../http/response.js'
import { TAGS } from '../records/resources.js'
import type { Store } from '../records/store.js'
import { createAppointment, updateAppointment } from './appointment.js'
import { createCustomer, updateCustomer } from './customer.js'
import { addCannedJob, removeService } from './estimate.js'
import { createNote, createPayment, createRecommendation, updateNote } from './order.js'
import { createTag, deleteTag, updateTag } from './tag.js'
import { Write } from './write.js'

interface WriteRoute {
  readonly method: string
  /** Below the tenant. */
  readonly path: string
  /** The resource that the write changes. The write returns 404 if the tenant doesn't offer the resource. */
  readonly resource: string
  readonly run: (write: Write) => HttpResponse
}

const route = (
  method: string,
  path: string,
  run: (write: Write) => HttpResponse,
  resource = path.split('/')[0] ?? path,
): WriteRoute => ({ method, path, resource, run })

export const WRITE_ROUTES: readonly WriteRoute[] = [
  route('POST', 'appointments', createAppointment),
  route('PUT', 'appointments/:id', updateAppointment),
  route('DELETE', 'appointments/:id', (write) => write.destroy('appointments')),
  route('POST', 'customers', createCustomer),
  route('PUT', 'customers/:id', updateCustomer),
  route('PUT', 'estimates/:estimate_id/canned_jobs/:canned_job_id', addCannedJob, 'repair_orders'),
  route('DELETE', 'estimates/:estimate_id/services/:service_id', removeService, 'repair_orders'),
  route('POST', TAGS, createTag),
  route('PUT', `${TAGS}/:id`, updateTag),
  route('DELETE', `${TAGS}/:id`, deleteTag),
  route('POST', 'notes', createNote),
  route('PUT', 'notes/:id', updateNote),
  route('POST', 'payments', createPayment),
  route('POST', 'recommendations', createRecommendation),
]

export function answerWrite({ resource, run }: WriteRoute, store: Store, call: TenantCall): HttpResponse {
  if (!store.offers(call.tenant, resource)) throw notFound()
  return run(new Write(store, call))
}
