/** Motion: the changes to records, grants and limits that a script makes. Used by server.ts. */
import type { RequestFacts } from '../http/request.js'
import { type Micros, printInstant } from '../instant.js'
import { Random } from '../random.js'
import type { Collection, StoredRecord } from '../records/collection.js'
import { encode } from '../records/json.js'
import { revision, sampleRecord } from '../records/sample.js'
import type { Store } from '../records/store.js'
import { hasMovable, transfer } from '../records/transfer.js'
import type { Motion, MotionTarget } from './rules.js'

interface Held {
  due: number
  readonly release: () => void
}

interface Place {
  readonly tenant: number
  readonly resource: string
  readonly info: RequestFacts
}

type Kind = Motion['kind']
type Of<K extends Kind> = Extract<Motion, { kind: K }>
type Moves = { [K in Kind]: (motion: Of<K>, place: Place) => void }

const NOWHERE: readonly Kind[] = ['shuffle', 'work', 'consume']
const OF_TENANTS: readonly Kind[] = ['revoke', 'grant']

/** false if the motion needs a tenant or a resource and neither it nor the request names one. */
function isPlaced(motion: Motion, tenant: number | null, resource: string | null): boolean {
  if (NOWHERE.includes(motion.kind)) return true
  if (OF_TENANTS.includes(motion.kind)) return tenant !== null
  const isEverywhere = 'everywhere' in motion && motion.everywhere === true
  return resource !== null && (isEverywhere || tenant !== null)
}

/** Makes the changes of a script, before or after the response to a request is prepared. */
export class Mover {
  #random = new Random(1)
  #held: Held[] = []
  #serial = 0
  /** Backups, by tenant and resource. */
  readonly #backups = new Map<string, readonly StoredRecord[]>()

  constructor(
    private readonly store: Store,
    private readonly consume: (requests: number) => void,
    private readonly work: (n: number, tenant: number | undefined) => void,
  ) {}

  /** Counts a request; late commits that have waited for enough requests become visible. */
  tick(): void {
    for (const held of this.#held) held.due -= 1
    const due = this.#held.filter((held) => held.due <= 0)
    this.#held = this.#held.filter((held) => held.due > 0)
    for (const { release } of due) release()
  }

  /** Resets the random numbers, so the same script does the same again. */
  restart(): void {
    this.#random = new Random(1)
    this.#serial = 0
  }

  clear(): void {
    this.#held = []
    this.#backups.clear()
    this.restart()
  }

  moveAll(motions: readonly Motion[], info: RequestFacts): void {
    for (const motion of motions) this.#move(motion, info)
  }

  #move<K extends Kind>(motion: Of<K>, info: RequestFacts): void {
    const move: (motion: Of<K>, place: Place) => void = this.#moves[motion.kind as K]
    const tenant = ('tenant' in motion ? motion.tenant : undefined) ?? info.tenant
    const resource = ('resource' in motion ? motion.resource : undefined) ?? this.#own(info)
    if (isPlaced(motion, tenant, resource))
      move(motion, { tenant: tenant ?? 0, resource: resource ?? '', info })
  }

  /** The request's resource, if it has records. */
  #own({ resource }: RequestFacts): string | null {
    return resource !== null && this.store.resources.includes(resource) ? resource : null
  }

  readonly #moves: Moves = {
    create: ({ n = 1, agedMs = 0 }, place) => {
      for (let i = 0; i < n; i += 1)
        this.#create(place, this.store.stamp() - BigInt(Math.round(agedMs * 1000)))
    },
    update: (target, place) => {
      for (const id of this.#targets(target, place)) this.#update(place, id)
    },
    delete: (target, { tenant, resource, ...place }) => {
      for (const id of this.#targets(target, { tenant, resource, ...place }))
        this.store.remove(tenant, resource, id)
    },
    touch: (target, place) => {
      const at = this.store.stamp()
      for (const id of this.#targets(target, place))
        this.store.change(place.tenant, place.resource, id, {}, at)
    },
    restore: (motion, place) => this.#restore(motion, place),
    late: ({ n = 1, hold = 1 }, place) => {
      for (let i = 0; i < n; i += 1) {
        const at = this.store.stamp()
        this.#held.push({ due: hold, release: () => this.#create(place, at) })
      }
    },
    shuffle: ({ on = true }) => {
      this.store.shuffleTies = on
    },
    revoke: (_motion, { tenant }) => this.store.revoke(tenant),
    grant: ({ writable = true }, { tenant }) => this.store.grant(tenant, writable),
    off: ({ everywhere }, { tenant, resource }) =>
      this.store.switchOff(resource, everywhere === true ? undefined : tenant),
    on: ({ everywhere }, { tenant, resource }) =>
      this.store.switchOn(resource, everywhere === true ? undefined : tenant),
    order: ({ by }, place) => {
      this.#collection(place).odd.order = by
    },
    twice: ({ apart = 0, ...target }, place) => {
      for (const id of this.#targets(target, place)) this.#collection(place).odd.twice.set(id, apart)
    },
    hide: (target, place) => {
      for (const id of this.#targets(target, place)) this.#collection(place).odd.hidden.add(id)
    },
    archive: (target, place) => {
      for (const id of this.#targets(target, place)) this.#collection(place).odd.archived.add(id)
    },
    poison: (target, place) => {
      for (const id of this.#targets(target, place)) this.#collection(place).odd.poisoned.add(id)
    },
    heal: (target, place) => {
      const ids = this.#targets(target, place)
      this.#collection(place).odd.heal(ids.length > 0 ? ids : undefined)
    },
    move: (motion, place) => this.#transfer(motion, place),
    backup: (_motion, place) => {
      this.#backups.set(`${place.tenant} ${place.resource}`, this.#collection(place).backup())
    },
    rewind: (_motion, place) => {
      const kept = this.#backups.get(`${place.tenant} ${place.resource}`)
      if (kept !== undefined) this.#collection(place).restore(kept)
    },
    work: ({ n = 1, tenant }) => this.work(n, tenant),
    consume: ({ requests }) => this.consume(requests),
  }

  #collection({ tenant, resource }: Place): Collection {
    return this.store.collection(tenant, resource)
  }

  #create({ tenant, resource }: Place, at: Micros): void {
    const { store } = this
    const id = store.collection(tenant, resource).nextKey
    store.putText(tenant, resource, encode(sampleRecord(store, tenant, resource, id, at)), id, at)
  }

  #update({ tenant, resource }: Place, id: number): void {
    const { store } = this
    this.#serial += 1
    store.change(tenant, resource, id, revision(store, tenant, resource, id, this.#serial))
  }

  #restore({ n = 1, stamp = true }: Of<'restore'>, { tenant, resource }: Place): void {
    const { store } = this
    const { buried } = store.tenant(tenant)
    for (let left = n; left > 0; left -= 1) {
      const index = buried.findLastIndex((one) => one.resource === resource)
      const [found] = index < 0 ? [] : buried.splice(index, 1)
      if (found === undefined) return
      const record = stamp ? stampedAgain(found.entry, store.stamp()) : found.entry
      store.putText(tenant, resource, record.text, record.key, record.micros)
    }
  }

  /** If the script names no records, one with items gives some to any other. */
  #transfer({ from, to, n = 1, stamps = 'both' }: Of<'move'>, { tenant, resource }: Place): void {
    const { store } = this
    const ids = store.ids(tenant, resource)
    const giving = from ?? this.#random.sample(ids, 20).find((id) => hasMovable(store, tenant, resource, id))
    const others = ids.filter((id) => id !== giving)
    if (giving === undefined || others.length === 0) return
    const taking = to ?? this.#random.pick(others)
    transfer(store, tenant, resource, { from: giving, to: taking, n, stamps })
  }

  #targets(target: MotionTarget, { tenant, resource, info }: Place): number[] {
    const collection = this.store.collection(tenant, resource)
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

function stampedAgain(entry: StoredRecord, at: Micros): StoredRecord {
  const record = JSON.parse(entry.text) as Record<string, unknown>
  return { ...entry, micros: at, text: encode({ ...record, updated_at: printInstant(at) }) }
}
