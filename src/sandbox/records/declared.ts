import type { Field, Member, Resource, Shape } from '../../../schema/resource.js'
import type { Fields, Stamped } from './json.js'
import { TAGGABLE, TAGS } from './resources.js'

/** Chooses the values of a record that is made from its declaration. */
export interface Values {
  /** Whether the next value that may be null is null. */
  isNull(): boolean
  /** How many items the next array holds. */
  size(): number
  itemId(table: string, owner: number): number
  /** The value of a field of the record or item with this id. */
  value(name: string, field: Field, owner: number): unknown
}

/** A record with every declared field. Its items have their own ids, and its stamps. It has no tags. */
export function declaredRecord(resource: Resource, head: Stamped, values: Values): Stamped & Fields {
  const tags = TAGGABLE.has(resource.entity) ? { [TAGS]: [] } : {}
  return { ...head, ...declaredFields(resource.fields, head, values), ...tags }
}

export function declaredFields(shape: Shape, owner: Stamped, values: Values): Fields {
  const entries = Object.entries(shape).map(([name, member]) => [name, fieldOf(name, member, owner, values)])
  return Object.fromEntries(entries) as Fields
}

function fieldOf(name: string, member: Member, owner: Stamped, values: Values): unknown {
  const items = <T>(make: () => T): T[] => Array.from({ length: values.size() }, make)
  switch (member.type) {
    case 'field':
      if (name === 'id' || name === 'created_at' || name === 'updated_at') return owner[name]
      return member.nullable && values.isNull() ? null : values.value(name, member, owner.id)
    case 'object':
      return member.nullable && values.isNull() ? null : declaredFields(member.fields, owner, values)
    case 'one':
      return declaredFields(member.fields, itemOf(member.table, owner, values), values)
    case 'many':
      return items(() => declaredFields(member.fields, itemOf(member.table, owner, values), values))
    case 'scalars':
      return [...new Set(items(() => values.value(member.column, member.of, owner.id)))]
  }
}

const itemOf = (table: string, owner: Stamped, values: Values): Stamped => ({
  ...owner,
  id: values.itemId(table, owner.id),
})
