import { type HttpResponse, invalid } from '../http/response.js'
import { type Fields, isFields } from '../records/json.js'
import { TAGGABLE, TAGS } from '../records/resources.js'
import { check, required } from './checks.js'
import type { Write } from './write.js'

const FIELDS = {
  taggable_type: required(check.oneOf(TAGGABLE.keys())),
  taggable_id: required(check.integer),
  name: required(check.filled),
  value: required(check.string),
}

export function createTag(write: Write): HttpResponse {
  const given = write.fields(FIELDS)
  demandTagged(write, given)
  const { id, response } = write.create(TAGS, given)
  embed(write, given, id)
  const location = `${write.call.info.path.replace(/\/$/, '')}/${id}`
  return { ...response, headers: { ...response.headers, Location: location } }
}

export function updateTag(write: Write): HttpResponse {
  const id = write.target(TAGS)
  const old = write.stored(TAGS, id) ?? {}
  const given = write.fields(FIELDS, true)
  const changed = { ...old, ...given }
  demandTagged(write, changed)
  const answer = write.update(TAGS, id, given)
  unembed(write, old, id)
  embed(write, changed, id)
  return answer
}

export function deleteTag(write: Write): HttpResponse {
  const id = write.target(TAGS)
  const old = write.stored(TAGS, id) ?? {}
  const answer = write.destroy(TAGS)
  unembed(write, old, id)
  return answer
}

interface Tagged {
  readonly resource: string
  readonly id: number
  readonly tags: readonly unknown[]
}

function tagged(write: Write, tag: Fields): Tagged | undefined {
  const resource = TAGGABLE.get(String(tag['taggable_type']))
  const id = Number(tag['taggable_id'])
  const owner = resource === undefined ? undefined : write.stored(resource, id)
  if (resource === undefined || owner === undefined) return undefined
  const tags: unknown = owner[TAGS]
  return { resource, id, tags: Array.isArray(tags) ? tags : [] }
}

function demandTagged(write: Write, tag: Fields): void {
  if (tagged(write, tag) === undefined) throw invalid({ taggable_id: 'is the id of no such record' })
}

function embed(write: Write, tag: Fields, id: number): void {
  const owner = tagged(write, tag)
  if (owner !== undefined)
    write.change(owner.resource, owner.id, { [TAGS]: [...owner.tags, write.stored(TAGS, id)] })
}

function unembed(write: Write, tag: Fields, id: number): void {
  const owner = tagged(write, tag)
  if (owner === undefined) return
  const kept = owner.tags.filter((one) => !isFields(one) || one['id'] !== id)
  write.change(owner.resource, owner.id, { [TAGS]: kept })
}
