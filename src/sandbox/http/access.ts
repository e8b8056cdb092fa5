import { timingSafeEqual } from 'node:crypto'
import type { Store } from '../records/store.js'
import type { Tenant } from '../records/tenant.js'
import type { PartnerCall } from './request.js'
import { notFound, Refusal } from './response.js'

export interface Credentials {
  readonly partnerId: string
  readonly secret: string
}

function same(given: string | string[] | undefined, expected: string): boolean {
  if (typeof given !== 'string') return false
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

export function isPartner(call: PartnerCall, { partnerId, secret }: Credentials): boolean {
  const { headers } = call.info
  return same(headers['x-api-partner-id'], partnerId) && same(headers['x-api-secret'], secret)
}

/** Throws 404 for a tenant that is unknown or not granted, and 403 for a write if the tenant only granted reading. */
export function grantedTenant(store: Store, call: PartnerCall): Tenant {
  const tenant = call.info.tenant === null ? undefined : store.findTenant(call.info.tenant)
  if (tenant === undefined || !tenant.granted) throw notFound()
  if (call.info.method !== 'GET' && !tenant.writable)
    throw new Refusal(403, 'This tenant has granted read access only')
  return tenant
}
