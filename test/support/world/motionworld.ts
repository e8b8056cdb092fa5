import { fromMicros, toMicros } from '../../../src/engine/base/timestamp.js'
import { createSandbox, type Fault, type Sandbox, template } from '../../../src/sandbox/index.js'
import { floorOf } from '../harness/runs.js'
import { HandClock } from './clocks.js'
import type { MotionScript, Step, Where } from './motionscript.js'
/** The tenant whose list moves, and one whose list doesn't. */
export const moving = 1
export const quiet = 2
export const resource = 'notes'

const begin = '2026-01-01T00:00:00.000000Z'
const start = toMicros(begin)

/** What exists at the source: which version of a record, and its exact updated_at. */
export interface Standing {
  readonly serial: number
  readonly micros: bigint
}

interface Version extends Standing {
  readonly createdAt: string
}

/** A source that many scenarios use, one after the other: starting a server for each would take longer. */
export interface MotionSource {
  readonly sandbox: Sandbox
  /** Everyone's clock: it moves with each request, so a scenario is the same each time. */
  readonly clock: HandClock
}

export async function motionSource(digits: MotionScript['digits']): Promise<MotionSource> {
  const clock = new HandClock(begin, 1n)
  return { clock, sandbox: await createSandbox({ data: 'none', timestamps: { digits }, clock }) }
}

/** The source, moved according to a script. */
export class MotionWorld {
  readonly sandbox: Sandbox
  readonly clock: HandClock
  /** What the source contained when the last request was answered. */
  seen = new Map<number, Standing>()
  /** Requests for the moving list since the scenario started, and those before which something came late. */
  requests = 0
  readonly late: number[] = []
  /** Requests before which something deleted came back. */
  readonly returned: number[] = []
  /**
   * Requests before which something was deleted although the response counts no fewer records than the previous one.
   */
  readonly masked: number[] = []
  /** Requests for a first page that did not show everything that might come late. */
  readonly wide: number[] = []
  /** What came late and was not written since. */
  readonly latecomers = new Set<number>()
  #total = 0
  #isGone = false
  /** How many versions were ever printed with the same updated_at. */
  readonly #printed = new Map<bigint, number>()
  #steps: readonly Step[] = []
  #inRun = 0
  #serial = 0
  #nextId = 1
  #last = start
  #buried: (Version & { id: number })[] = []
  /** The request before which a record that was deleted came back. */
  readonly #backAt = new Map<number, number>()
  /** For how many more requests the list lacks a record. */
  readonly #hidden = new Map<number, number>()
  readonly #live = new Map<number, Version>()
  onRequest: (n: number) => void = () => {}

  /** Empties the source and fills it according to the script. */
  constructor(
    { sandbox, clock }: MotionSource,
    private readonly script: MotionScript,
  ) {
    this.sandbox = sandbox
    this.clock = clock
    const { store } = sandbox
    sandbox.reset()
    clock.micros = start
    clock.skew = 0n
    for (const id of [moving, quiet]) store.addTenant({ id })
    store.shuffleTies = script.shuffle
    store.put(quiet, resource, template(resource, 1, fromMicros(start - 1_000_000n)))
    let ago = script.initial.reduce((ms, { n, tied, gapMs }) => ms + gapMs * (tied ? 1 : n), 5)
    for (const { n, tied, gapMs } of script.initial) {
      for (let i = 0; i < n; i++) {
        if (!tied || i === 0) ago -= gapMs
        this.#create(start - BigInt(Math.round(ago * 1000)))
      }
    }
    sandbox.onRequest(({ tenant, resource: asked, page, perPage }) => {
      if (tenant === moving && asked === resource) this.#arrived(page ?? 1, perPage ?? 30)
    })
  }

  /** The steps of the next run; those of request 0 happen at once. */
  prepare(steps: readonly Step[]): void {
    this.#steps = steps
    this.#inRun = 0
    this.#move(0, 0)
  }

  /** The newest instant for a version's stamp: no two are equal by accident. */
  #stamp(): bigint {
    this.#last = this.clock.micros > this.#last ? this.clock.micros : this.#last + 1n
    return this.#last
  }

  /** Everything that the moving tenant has now. */
  standing(): Map<number, Standing> {
    return new Map([...this.#live].map(([id, { serial, micros }]) => [id, { serial, micros }]))
  }

  /** Whether a record exists and did not only come back after that request. */
  isThereSince(id: number, request: number): boolean {
    return this.#live.has(id) && (this.#backAt.get(id) ?? -1) < request
  }

  /** The ids at these places of the list. */
  idsAt(where: Where): number[] {
    const ids: number[] = []
    this.#each(where, 0, (id) => ids.push(id))
    return ids
  }

  #arrived(page: number, perPage: number): void {
    this.requests++
    this.#inRun++
    this.clock.pass(this.script.stepMs)
    for (const [id, left] of this.#hidden) this.#hide(id, left - 1)
    this.#move(this.#inRun, (page - 1) * perPage)
    this.seen = this.standing()
    if (this.#isGone && this.seen.size >= this.#total) this.masked.push(this.requests)
    this.#isGone = false
    this.#total = this.seen.size
    if (page === 1 && perPage > 1 && this.#isWide(perPage)) this.wide.push(this.requests)
    this.onRequest(this.#inRun)
  }

  /** Whether more than a page is between the newest record and the start of the next walk. */
  #isWide(perPage: number): boolean {
    const order = this.sandbox.store.collection(moving, resource).newest(0, perPage)
    const [top, low] = [order[0], order.at(-1)]
    if (!top || !low || this.#live.size <= perPage) return false
    const ceiling = fromMicros(this.#print(top.micros) * this.#unit)
    return fromMicros(low.micros) > floorOf(ceiling, this.script.overlapMs)
  }

  #move(n: number, pointer: number): void {
    for (const step of this.#steps) if (step.at === n) this.#step(step, pointer)
  }

  #step(step: Step, pointer: number): void {
    const { store } = this.sandbox
    if (step.kind === 'create') this.#times(step.n, () => this.#create(this.#stamp()))
    else if (step.kind === 'update') this.#each(step.where, pointer, (id) => this.#write(id, this.#stamp()))
    else if (step.kind === 'delete') this.#each(step.where, pointer, (id) => this.#remove(id))
    else if (step.kind === 'touch') {
      const at = this.#stamp()
      this.#each(step.where, pointer, (id) => this.#write(id, at))
    } else if (step.kind === 'flash') this.#times(step.n, () => this.#remove(this.#create(this.#stamp())))
    else if (step.kind === 'late') {
      this.late.push(this.requests)
      const at = this.clock.micros - BigInt(step.lagMs) * 1000n
      this.#times(step.n, (i) => this.latecomers.add(this.#create(at + BigInt(i))))
    } else if (step.kind === 'restore') this.#times(step.n, () => this.#restore())
    else if (step.kind === 'undelete') this.#undelete(step.n)
    else if (step.kind === 'bring back') this.#bringBack(this.#buried.slice(-step.n))
    else if (step.kind === 'backdate') this.#each(step.where, pointer, (id) => this.#backdate(id, step.share))
    else if (step.kind === 'hide') this.#each(step.where, pointer, (id) => this.#hide(id, step.requests))
    else if (step.kind === 'fail') this.#fail(step.fault, step.requests)
    else if (step.kind === 'clock') this.clock.skew = BigInt(step.hours) * 3_600_000_000n
    else if (step.kind === 'shuffle') store.shuffleTies = step.on
    else if (step.kind === 'revoke') store.revoke(moving)
    else if (step.kind === 'grant') store.grant(moving)
    else if (step.kind === 'pause') this.clock.pass(step.ms)
  }

  #fail(fault: Fault, times: number): void {
    this.sandbox.script([{ when: { tenant: moving, resource, kind: 'list' }, times, fault }])
  }

  #restore(): void {
    const back = this.#buried.pop()
    if (!back) return
    this.returned.push(this.requests)
    this.#backAt.set(back.id, this.requests)
    this.#write(back.id, this.#stamp(), back.createdAt)
  }

  /** Unchanged, if they were changed within the overlap. */
  #undelete(n: number): void {
    const since = this.clock.micros - BigInt(this.script.overlapMs) * 1000n
    this.#bringBack(this.#buried.filter(({ micros }) => micros > since).slice(-n))
  }

  #bringBack(some: readonly (Version & { id: number })[]): void {
    for (const back of some) {
      this.late.push(this.requests)
      this.#buried = this.#buried.filter((one) => one !== back)
      this.#backAt.set(back.id, this.requests)
      this.#put(back.id, back)
      this.latecomers.add(back.id)
    }
  }

  #backdate(id: number, share: number): void {
    // With the updated_at that it had, as printed, no list would show the change.
    const since = (this.#live.get(id)?.micros ?? start) + this.#unit
    const left = this.clock.micros - since
    if (left >= 0n) this.#write(id, since + (left * BigInt(Math.floor(share * 1000))) / 1000n)
  }

  #hide(id: number, requests: number): void {
    const { archived } = this.sandbox.store.collection(moving, resource).odd
    if (requests > 0) {
      this.#hidden.set(id, requests)
      archived.add(id)
    } else {
      this.#hidden.delete(id)
      archived.delete(id)
    }
  }

  /** Whether another version was printed with the same updated_at, so that one can hide the other. */
  isTied(micros: bigint): boolean {
    return (this.#printed.get(this.#print(micros)) ?? 0) > 1
  }

  #print(micros: bigint): bigint {
    return micros / this.#unit
  }

  /** What the last digit of a printed instant stands for. */
  get #unit(): bigint {
    return 10n ** BigInt(6 - this.script.digits)
  }

  #times(n: number, work: (i: number) => unknown): void {
    for (let i = 0; i < n; i++) work(i)
  }

  #each({ from, offset, n }: Where, pointer: number, work: (id: number) => void): void {
    const order = this.sandbox.store.collection(moving, resource).newest(0, this.#live.size)
    const base = from === 'front' ? 0 : from === 'end' ? order.length - n : pointer
    const first = Math.max(0, base + offset)
    for (const { key } of order.slice(first, first + n)) work(key)
  }

  #create(micros: bigint): number {
    const id = this.#nextId++
    this.#write(id, micros, fromMicros(micros))
    return id
  }

  #write(id: number, micros: bigint, createdAt = this.#live.get(id)?.createdAt ?? ''): void {
    this.latecomers.delete(id)
    this.#put(id, { serial: ++this.#serial, micros, createdAt })
  }

  #put(id: number, version: Version): void {
    const { serial, micros, createdAt } = version
    this.#printed.set(this.#print(micros), (this.#printed.get(this.#print(micros)) ?? 0) + 1)
    this.#live.set(id, version)
    const record = template(resource, id, fromMicros(micros))
    this.sandbox.store.put(moving, resource, { ...record, created_at: createdAt, description: `v${serial}` })
  }

  #remove(id: number): void {
    this.#isGone = true
    const version = this.#live.get(id)
    this.#live.delete(id)
    if (version) this.#buried.push({ id, ...version })
    this.sandbox.store.remove(moving, resource, id)
  }

  /** Nothing moves or fails any more, the clock is right, and the tenant is granted. */
  standStill(): void {
    this.prepare([])
    this.sandbox.script([])
    this.clock.skew = 0n
    for (const id of [...this.#hidden.keys()]) this.#hide(id, 0)
    this.sandbox.store.grant(moving)
  }
}
