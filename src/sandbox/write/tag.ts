import type { Answer, TenantCall } from '../http/request.js'
import { type Fields, isFields } from '../records/json.js'
import { TAGGABLE } from '../records/resources.js'
import type { Store } from '../records/store.js'
import * as body from './body.js'

const taggable: body.Check = (value) =>
  typeof value === 'string' && value in TAGGABLE
    ? undefined
    : `is not one of ${Object.keys(TAGGABLE).join(', ')}`

const FIELDS = {
  taggable_type: body.required(taggable),
  taggable_id: body.required(body.integer),
  name: body.required(body.filled),
  value: body.required(body.string),
}

export function createTag(store: Store, call: TenantCall): Answer {
  const given = body.readBody(call, FIELDS)
  demandTagged(store, call, given)
  const answer = body.create(store, call, 'integrator_tags', given)
  const { id } = JSON.parse(answer.body.toString()) as { id: number }
  embed(store, call, given, id)
  return { ...answer, headers: { ...answer.headers, Location: `${call.info.path.replace(/\/$/, '')}/${id}` } }
}

export function updateTag(store: Store, call: TenantCall): Answer {
  const id = body.target(store, call, 'integrator_tags')
  const old = store.stored(call.tenant.id, 'integrator_tags', id) ?? {}
  const given = body.readBody(call, FIELDS, true)
  const changed = { ...old, ...given }
  demandTagged(store, call, changed)
  const answer = body.update(store, call, 'integrator_tags', id, given)
  unembed(store, call, old, id)
  embed(store, call, changed, id)
  return answer
}

export function deleteTag(store: Store, call: TenantCall): Answer {
  const id = body.target(store, call, 'integrator_tags')
  const old = store.stored(call.tenant.id, 'integrator_tags', id) ?? {}
  const answer = body.destroy(store, call, 'integrator_tags')
  unembed(store, call, old, id)
  return answer
}

interface Tagged {
  readonly resource: string
  readonly id: number
  readonly tags: readonly unknown[]
}

function tagged(store: Store, call: TenantCall, tag: Fields): Tagged | undefined {
  const resource = TAGGABLE[String(tag['taggable_type'])]
  const id = Number(tag['taggable_id'])
  const owner = resource === undefined ? undefined : store.stored(call.tenant.id, resource, id)
  if (resource === undefined || owner === undefined) return undefined
  const tags: unknown = owner['integrator_tags']
  return { resource, id, tags: Array.isArray(tags) ? tags : [] }
}

function demandTagged(store: Store, call: TenantCall, tag: Fields): void {
  if (tagged(store, call, tag) === undefined)
    throw body.invalid({ taggable_id: 'is the id of no such record' })
}

function embed(store: Store, call: TenantCall, tag: Fields, id: number): void {
  const owner = tagged(store, call, tag)
  const record = store.stored(call.tenant.id, 'integrator_tags', id)
  if (owner !== undefined)
    store.change(call.tenant.id, owner.resource, owner.id, { integrator_tags: [...owner.tags, record] })
}

function unembed(store: Store, call: TenantCall, tag: Fields, id: number): void {
  const owner = tagged(store, call, tag)
  if (owner === undefined) return
  const kept = owner.tags.filter((one) => !isFields(one) || one['id'] !== id)
  store.change(call.tenant.id, owner.resource, owner.id, { integrator_tags: kept })
}
