/** The steps that all writes by partners share. Used by the operations in this folder. */
import { bodyOf, type TenantCall } from '../http/request.js'
import { type HttpResponse, invalid, jsonResponse, notFound } from '../http/response.js'
import { printInstant } from '../instant.js'
import { type ApiRecord, encode, type Fields } from '../records/json.js'
import type { Store } from '../records/store.js'
import { type BodyField, check, type ValueCheck } from './checks.js'

/** One write by a partner: reads the request, changes the tenant's records, prints the result. */
export class Write {
  constructor(
    readonly store: Store,
    readonly call: TenantCall,
  ) {}

  get tenant(): number {
    return this.call.tenant.id
  }

  stored(resource: string, id: unknown): ApiRecord | undefined {
    return typeof id === 'number' ? this.store.stored(this.tenant, resource, id) : undefined
  }

  /** Accepts the id of one of the tenant's records. A tenant without any record of the resource accepts all ids. */
  existing(resource: string): ValueCheck {
    return (value) =>
      check.integer(value) ??
      (this.store.count(this.tenant, resource) > 0 && this.stored(resource, value) === undefined
        ? `is the id of no record of ${resource}`
        : undefined)
  }

  /** Checks the documented fields of the body and ignores others. null empties an optional field. */
  fields(fields: Readonly<Record<string, BodyField>>, partial = false): Fields {
    const body = bodyOf(this.call)
    const wrong: Record<string, string> = {}
    const found: Record<string, unknown> = {}
    for (const [name, field] of Object.entries(fields)) {
      const value = body[name]
      const isMissing = field.required && (value === null || (value === undefined && !partial))
      const message = isMissing ? 'is required' : (value ?? null) === null ? undefined : field.check(value)
      if (message !== undefined) wrong[name] = message
      else if (value !== undefined) found[name] = value
    }
    if (Object.keys(wrong).length > 0) throw invalid(wrong)
    return found
  }

  /** The id in the path. Throws 404 if there is no such record. */
  target(resource: string, parameter = 'id'): number {
    const text = this.call.params[parameter] ?? ''
    const id = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (this.stored(resource, id) === undefined) throw notFound()
    return id
  }

  /** Stores a new record under the next id. */
  create(resource: string, fields: Fields): { id: number; response: HttpResponse } {
    const micros = this.store.stamp()
    const time = printInstant(micros)
    const id = this.store.collection(this.tenant, resource).nextKey
    const record = { id, created_at: time, updated_at: time, ...fields }
    this.store.putText(this.tenant, resource, encode(record), id, micros)
    return { id, response: this.#print(201, resource, id) }
  }

  update(resource: string, id: number, fields: Fields): HttpResponse {
    if (!this.change(resource, id, fields)) throw notFound()
    return this.#print(200, resource, id)
  }

  /** Changes a record without printing it. */
  change(resource: string, id: number, fields: Fields): boolean {
    return this.store.change(this.tenant, resource, id, fields)
  }

  destroy(resource: string): HttpResponse {
    if (!this.store.remove(this.tenant, resource, this.target(resource))) throw notFound()
    return jsonResponse(200, '{}')
  }

  #print(status: number, resource: string, id: number): HttpResponse {
    const record = this.store.printed(this.tenant, resource, id)
    if (record === undefined) throw notFound()
    return jsonResponse(status, record)
  }
}
