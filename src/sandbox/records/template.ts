import { resources } from '../../../schema/index.js'
import type { Field } from '../../../schema/resource.js'
import { declaredFields, declaredRecord, type Values } from './declared.js'
import type { Fields } from './json.js'

/** A complete record of any resource, made from its declaration: one item in every array, no nulls, plain values. */
export function template(resource: string, id: number, time: string): Fields {
  const head = { id, created_at: time, updated_at: time }
  const declared = resources[resource]
  return declared === undefined
    ? { ...head, name: `${resource} ${id}` }
    : declaredRecord(declared, head, new PlainValues(time))
}

export function serviceTemplate(id: number, time: string): Fields {
  const services = resources['repair_orders']?.fields['services']
  const shape = services?.type === 'many' ? services.fields : {}
  return declaredFields(shape, { id, created_at: time, updated_at: time }, new PlainValues(time))
}

class PlainValues implements Values {
  constructor(private readonly time: string) {}

  isNull(): boolean {
    return false
  }

  size(): number {
    return 1
  }

  itemId(_table: string, owner: number): number {
    return owner * 10
  }

  value(name: string, { kind, values }: Field, id: number): unknown {
    switch (kind) {
      case 'id':
        return 1
      case 'integer':
        return id
      case 'cents':
        return id * 100
      case 'number':
        return id + 0.5
      case 'boolean':
        return true
      case 'text':
        return values?.[0] ?? `${name} ${id}`
      case 'timestamp':
        return this.time
      case 'day':
        return this.time.slice(0, 10)
      case 'json':
        return { [name]: id }
    }
  }
}
