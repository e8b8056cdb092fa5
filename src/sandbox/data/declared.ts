/**
 * Records of resources that no maker in this folder knows, made only from the declaration: a resource is one file under
 * schema/. Used by generate.ts for a tenant's past, and by work.ts for changes.
 */
import type { Field, Resource } from '../../../schema/resource.js'
import { Random } from '../random.js'
import { declaredRecord, type Values } from '../records/declared.js'
import { isRecordList, RECORD_LISTS, STRING_LISTS } from '../records/resources.js'
import { DAY, HOUR, MINUTE, type Moment, print } from './moment.js'
import { isHandMade, type World } from './world.js'

/** The resources that this file fills. */
export const DECLARED_ONLY: readonly Resource[] = RECORD_LISTS.filter(({ name }) => !isHandMade(name))

const CUSTOM_PAYMENT_TYPES = ['Fleet', 'Warranty', 'Visa']

/** The content of every list of strings. Payments of the generated orders use the payment types. */
export const stringLists = (): Record<string, readonly string[]> =>
  Object.fromEntries(
    STRING_LISTS.map(({ name, entity }) => [
      name,
      name === 'customer_payment_types' ? CUSTOM_PAYMENT_TYPES : [1, 2, 3].map((n) => `${entity} ${n}`),
    ]),
  )

const FEWEST = 25
const MOST = 2000

/** Each resource has its own seed, so adding one doesn't change the records of the others. */
export function fillDeclared(world: World, orders: number, seed: number, until: Moment): void {
  const count = Math.min(MOST, Math.max(FEWEST, Math.floor(orders / 5)))
  for (const { name } of DECLARED_ONLY) world.declared.set(name, count)
  for (const resource of DECLARED_ONLY) {
    const letters = [...resource.name].map((letter) => letter.charCodeAt(0))
    const random = new Random(letters.reduce((hash, code) => Math.imul(hash, 31) + code, seed + world.tenant))
    for (let id = 1; id <= count; id += 1) {
      const created = until - random.integer(2, 700) * DAY + random.integer(0, DAY)
      const updated = Math.min(
        created + random.integer(0, 40 * 24 * 60) * MINUTE,
        until - random.integer(1, HOUR),
      )
      const head = { id: world.id(resource.name), created_at: print(created), updated_at: print(updated) }
      const values = new ChosenValues(world, random, resource.singular, updated)
      world.emit(resource.name, declaredRecord(resource, head, values), updated)
    }
  }
}

/** Stores one more record, as of now. */
export function makeDeclared(world: World, resource: Resource, at: Moment): void {
  const head = world.stamps(resource.name, at)
  const values = new ChosenValues(world, world.random, resource.singular, at)
  world.emit(resource.name, declaredRecord(resource, head, values), at)
}

const WORDS = 'amber brass copper élan flint garnet hazel indigo jade Köln linen'.split(' ')

/** Chooses values by seeded chance. References are ids of existing records. */
class ChosenValues implements Values {
  constructor(
    private readonly world: World,
    private readonly random: Random,
    private readonly singular: string,
    private readonly at: Moment,
  ) {}

  isNull(): boolean {
    return this.random.chance(0.2)
  }

  size(): number {
    return this.random.integer(0, 3)
  }

  itemId(table: string): number {
    return this.world.id(`${this.singular} ${table}`)
  }

  value(name: string, { kind, values, references, nullable }: Field): unknown {
    const { random } = this
    switch (kind) {
      case 'id':
        return references === undefined ? random.integer(1, 1000) : this.#idOf(references, nullable)
      case 'integer':
        return random.integer(0, 100_000)
      case 'cents':
        return random.integer(1, 4000) * 25
      case 'number':
        return random.integer(0, 10_000) / 100
      case 'boolean':
        return random.chance(0.5)
      case 'text':
        return values === undefined
          ? `${name} ${random.pick(WORDS)} ${random.digits(3)}`
          : random.pick(values)
      case 'timestamp':
        return print(this.at - random.integer(0, 30 * DAY))
      case 'day':
        return print(this.at - random.integer(0, 30 * DAY)).slice(0, 10)
      case 'json':
        return { [random.pick(WORDS)]: random.integer(0, 99), list: [random.pick(WORDS), null] }
    }
  }

  #idOf(table: string, nullable: boolean): number | null {
    const { world, random } = this
    const planned = world.live ? 0 : (world.declared.get(table) ?? 0)
    if (planned > 0) return random.integer(1, planned)
    if (!isRecordList(table)) return random.integer(1, 1000)
    const collection = world.store.collection(world.tenant, table)
    const [found] = collection.newest(random.integer(0, Math.max(0, collection.size - 1)), 1)
    return found?.key ?? (nullable ? null : 1)
  }
}
