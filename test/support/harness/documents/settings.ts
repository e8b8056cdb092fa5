/** The keys that a JSON schema allows, one per line, with their types, descriptions and defaults. */
import { z } from 'zod'

const node = z.looseObject({
  $ref: z.string().optional(),
  type: z.unknown().optional(),
  enum: z.unknown().optional(),
  const: z.unknown().optional(),
  default: z.unknown().optional(),
  required: z.array(z.string()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  additionalProperties: z.unknown().optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
})

const facts = ['$ref', 'type', 'enum', 'const', 'default', 'format', 'minimum', 'maximum', 'pattern'] as const

export function settings(schema: unknown, path = ''): string[] {
  const { data } = node.safeParse(schema)
  if (!data) return path === '' ? [] : [`${path}: ${JSON.stringify(schema)}`]
  const said = facts.filter((name) => data[name] !== undefined)
  const own = said.map((name) => `${name} ${JSON.stringify(data[name])}`)
  const required = data.required ? [`requires ${data.required.join(', ')}`] : []
  const below = Object.entries(data.properties ?? {}).map(
    ([key, value]) => [`${path}.${key}`, value] as const,
  )
  const others = [
    ...(data.additionalProperties === undefined ? [] : [[`${path}.*`, data.additionalProperties] as const]),
    ...(data.items === undefined ? [] : [[`${path}[]`, data.items] as const]),
    ...[...(data.anyOf ?? []), ...(data.oneOf ?? []), ...(data.allOf ?? [])].map(
      (one, at) => [`${path}|${at + 1}`, one] as const,
    ),
  ]
  return [
    `${path}: ${[...own, ...required].join(', ')}`,
    ...[...below, ...others].flatMap(([name, value]) => settings(value, name)),
  ]
}
