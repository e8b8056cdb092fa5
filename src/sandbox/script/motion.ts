import type { RateLimit } from '../http/ratelimit.js'
import type { RequestInfo } from '../http/request.js'
import { type Micros, printInstant } from '../instant.js'
import { Random } from '../random.js'
import type { Entry } from '../records/collection.js'
import { encode } from '../records/json.js'
import { revision, sampleRecord } from '../records/sample.js'
import type { Store } from '../records/store.js'
import type { Motion, Target } from './rules.js'

export interface MoverParts {
  readonly store: Store
  readonly rate: RateLimit
  readonly partnerId: string
  readonly work: (n: number, tenant: number | undefined) => void
}

interface Held {
  due: number
  readonly release: () => void
}

interface Place {
  readonly tenant: number
  readonly resource: string
  readonly info: RequestInfo
}

type Kind = Motion['kind']
type Of<K extends Kind> = Extract<Motion, { kind: K }>
type Moves = { [K in Kind]: (motion: Of<K>, place: Place) => void }

/** A motion that lacks the tenant or the resource it needs does nothing. */
function isPlaced(motion: Motion, tenant: number | null, resource: string | null): boolean {
  switch (motion.kind) {
    case 'shuffle':
    case 'work':
    case 'consume':
      return true
    case 'revoke':
    case 'grant':
      return tenant !== null
    case 'off':
    case 'on':
      return resource !== null && (motion.everywhere === true || tenant !== null)
    default:
      return tenant !== null && resource !== null
  }
}

/** Moves the records as a script says: between requests, or while they are answered. */
export class Mover {
  readonly #parts: MoverParts
  #random = new Random(1)
  #held: Held[] = []
  #serial = 0

  constructor(parts: MoverParts) {
    this.#parts = parts
  }

  /** One more request has come: what was held back until now becomes visible. */
  tick(): void {
    for (const held of this.#held) held.due -= 1
    const due = this.#held.filter((held) => held.due <= 0)
    this.#held = this.#held.filter((held) => held.due > 0)
    for (const { release } of due) release()
  }

  /** A new script meets the same chances as the one before it did. */
  restart(): void {
    this.#random = new Random(1)
    this.#serial = 0
  }

  clear(): void {
    this.#held = []
    this.restart()
  }

  moveAll(motions: readonly Motion[], info: RequestInfo): void {
    for (const motion of motions) this.#move(motion, info)
  }

  #move<K extends Kind>(motion: Of<K>, info: RequestInfo): void {
    const move: (motion: Of<K>, place: Place) => void = this.#moves[motion.kind as K]
    const tenant = ('tenant' in motion ? motion.tenant : undefined) ?? info.tenant
    const resource = ('resource' in motion ? motion.resource : undefined) ?? this.#own(info)
    if (isPlaced(motion, tenant, resource))
      move(motion, { tenant: tenant ?? 0, resource: resource ?? '', info })
  }

  /** The request's own resource, if it is one with records. */
  #own({ resource }: RequestInfo): string | null {
    return resource !== null && this.#parts.store.resources.includes(resource) ? resource : null
  }

  readonly #moves: Moves = {
    create: ({ n = 1, agedMs = 0 }, place) => {
      for (let i = 0; i < n; i += 1)
        this.#create(place, this.#parts.store.stamp() - BigInt(Math.round(agedMs * 1000)))
    },
    update: (target, place) => {
      for (const id of this.#targets(target, place)) this.#update(place, id)
    },
    delete: (target, { tenant, resource, ...place }) => {
      for (const id of this.#targets(target, { tenant, resource, ...place }))
        this.#parts.store.remove(tenant, resource, id)
    },
    touch: (target, place) => {
      const at = this.#parts.store.stamp()
      for (const id of this.#targets(target, place))
        this.#parts.store.change(place.tenant, place.resource, id, {}, at)
    },
    restore: (motion, place) => this.#restore(motion, place),
    late: ({ n = 1, hold = 1 }, place) => {
      for (let i = 0; i < n; i += 1) {
        const at = this.#parts.store.stamp()
        this.#held.push({ due: hold, release: () => this.#create(place, at) })
      }
    },
    shuffle: ({ on = true }) => {
      this.#parts.store.shuffleTies = on
    },
    revoke: (_motion, { tenant }) => this.#parts.store.revoke(tenant),
    grant: ({ writable = true }, { tenant }) => this.#parts.store.grant(tenant, writable),
    off: ({ everywhere }, { tenant, resource }) =>
      this.#parts.store.switchOff(resource, everywhere === true ? undefined : tenant),
    on: ({ everywhere }, { tenant, resource }) =>
      this.#parts.store.switchOn(resource, everywhere === true ? undefined : tenant),
    work: ({ n = 1, tenant }) => this.#parts.work(n, tenant),
    consume: ({ requests }) => {
      this.#parts.rate.take(this.#parts.partnerId, requests)
    },
  }

  #create({ tenant, resource }: Place, at: Micros): void {
    const { store } = this.#parts
    const id = store.collection(tenant, resource).nextKey
    store.putText(tenant, resource, encode(sampleRecord(store, tenant, resource, id, at)), id, at)
  }

  #update({ tenant, resource }: Place, id: number): void {
    const record = this.#parts.store.stored(tenant, resource, id)
    if (record === undefined) return
    this.#serial += 1
    this.#parts.store.change(tenant, resource, id, revision(record, this.#serial))
  }

  #restore({ n = 1, stamp = true }: Of<'restore'>, { tenant, resource }: Place): void {
    const { store } = this.#parts
    const { buried } = store.tenant(tenant)
    for (let left = n; left > 0; left -= 1) {
      const index = buried.findLastIndex((one) => one.resource === resource)
      const [found] = index < 0 ? [] : buried.splice(index, 1)
      if (found === undefined) return
      const record = stamp ? stampedAgain(found.entry, store.stamp()) : found.entry
      store.putText(tenant, resource, record.text, record.key, record.micros)
    }
  }

  #targets(target: Target, { tenant, resource, info }: Place): number[] {
    const collection = this.#parts.store.collection(tenant, resource)
    const at = (rank: number, count: number): number[] =>
      collection.newest(Math.max(0, rank), count).map(({ key }) => key)
    const size = Math.min(100, info.perPage ?? 30)
    const start = ((info.page ?? 1) - 1) * size
    const behind = Math.min(start, target.behind ?? 0)
    const ids = [
      ...(target.ids ?? []),
      ...(target.ranks ?? []).flatMap((rank) => at(rank, 1)),
      ...at(start + size, target.ahead ?? 0),
      ...at(start - behind, behind),
      ...(target.random === undefined ? [] : this.#random.sample(collection.keys(), target.random)),
    ]
    return [...new Set(ids)]
  }
}

function stampedAgain(entry: Entry, at: Micros): Entry {
  const record = JSON.parse(entry.text) as Record<string, unknown>
  return { ...entry, micros: at, text: encode({ ...record, updated_at: printInstant(at) }) }
}
