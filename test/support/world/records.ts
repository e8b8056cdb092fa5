/** Random records of a declared resource: mostly right, with everything in them that can be wrong. */
import fc from 'fast-check'
import type { Field, Kind, Member, Resource, Shape } from '../../../schema/resource.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'

const instants = fc.constantFrom(
  '2024-01-01T00:00:00Z',
  '2024-01-01T00:00:00.000Z',
  '2024-01-01T00:00:00.000001Z',
  '2024-01-01T01:00:00+01:00',
  '2024-06-01T12:30:00.5-07:00',
)
const plainText = fc.constantFrom('', 'brakes', 'Zoë 🚗', '12', '007', 'true', '1.50', 'approved', 'green')
const dirtyText = fc.constantFrom('a\u0000b', '\ud83d', '\udc00x', 'fine')
const plainNumber = fc.constantFrom(0, -0, 1, 2, 7, 12.5, 1200, -3, 1e21, 2 ** 53)
const ids = fc.integer({ min: 1, max: 6 })

const right: Readonly<Record<Kind, fc.Arbitrary<unknown>>> = {
  id: ids,
  integer: fc.integer(),
  cents: fc.integer({ min: -10_000, max: 1_000_000 }),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }),
  boolean: fc.boolean(),
  text: plainText,
  timestamp: instants,
  json: fc.jsonValue({ maxDepth: 2 }),
  day: fc.constantFrom('2024-02-29', '2024-06-01'),
}

/** `careful` adds the values that only a careful page may contain. */
export function recordsOf(resource: Resource, embedded: Resource, careful: boolean): fc.Arbitrary<unknown[]> {
  const texts = careful ? fc.oneof(plainText, dirtyText) : plainText
  const numbers = careful
    ? fc.oneof(plainNumber, fc.constantFrom(2n ** 60n, 2n ** 64n, 9007199254740993n))
    : plainNumber
  const wrong = fc.oneof(
    fc.constantFrom(null, null, true, false),
    texts,
    numbers,
    instants,
    fc.array(fc.oneof(texts, numbers), { maxLength: 2 }),
    fc.record({ id: ids, x: texts }, { requiredKeys: [] }),
  )
  const mostly = <T>(good: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: wrong })
  const enumerated = (field: Field): fc.Arbitrary<unknown> =>
    field.values ? fc.oneof(fc.constantFrom(...field.values), texts) : right[field.kind]
  const memberOf = (member: Member): fc.Arbitrary<unknown> => {
    if (member.type === 'field')
      return member.kind === 'text' && !member.values ? mostly(texts) : mostly(enumerated(member))
    if (member.type === 'object') return mostly(objectOf(member.fields, []))
    if (member.type === 'one') return mostly(fc.oneof(fc.constant({}), objectOf(member.fields, ['id'])))
    if (member.type === 'scalars') return mostly(fc.array(mostly(right[member.of.kind]), { maxLength: 3 }))
    return mostly(fc.array(mostly(objectOf(member.fields, ['id'])), { maxLength: 2 }))
  }
  /** No two tags are equally old: across records, nobody promises which of those wins. */
  const manyInstants = fc.bigInt({ min: 0n, max: 2n ** 50n }).map(fromMicros)
  const deepTag = tagOf(fc.integer({ min: 101, max: 106 }), manyInstants, fc.constant([]))
  const deepTags = fc.array(mostly(deepTag), { maxLength: 2 })
  const tags = fc.array(mostly(tagOf(ids, manyInstants, deepTags)), { maxLength: 3 })
  function tagOf(
    id: fc.Arbitrary<unknown>,
    version: fc.Arbitrary<unknown>,
    inside: fc.Arbitrary<unknown>,
  ): fc.Arbitrary<unknown> {
    const more = { id, updated_at: version, [embedded.embeddedAs ?? '']: inside }
    return plainObject(embedded.fields, ['id', 'updated_at'], more)
  }
  function plainObject(
    fields: Shape,
    required: readonly string[],
    more: Record<string, fc.Arbitrary<unknown>>,
  ): fc.Arbitrary<Record<string, unknown>> {
    const declared = Object.entries(fields).map(([name, member]) => [name, memberOf(member)] as const)
    const model: Record<string, fc.Arbitrary<unknown>> = { ...Object.fromEntries(declared), ...more }
    const requiredKeys = required.filter((name) => name in model)
    return fc.record(model, { requiredKeys, noNullPrototype: true }) as fc.Arbitrary<Record<string, unknown>>
  }
  /** With an unknown member now and then. */
  function objectOf(fields: Shape, required: readonly string[], lists = deepTags): fc.Arbitrary<unknown> {
    const surprise = fc.constantFrom('warranty', 'constructor', '__proto__', 'x y')
    return fc
      .tuple(
        plainObject(fields, required, {}),
        fc.integer({ min: 0, max: 9 }),
        surprise,
        mostly(texts),
        lists,
      )
      .map(([object, dice, name, value, list]) => {
        if (dice === 0)
          return Object.defineProperty(object, name, { value, enumerable: true, configurable: true })
        return dice === 1 ? { ...object, [embedded.embeddedAs ?? '']: list } : object
      })
  }
  const record = objectOf(resource.fields, ['id', 'updated_at'], tags)
  return fc.array(mostly(record), { maxLength: 4 })
}
