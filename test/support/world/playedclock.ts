/**
 * Time that a program shares with its source: it passes with each request, when the test lets it, and while the program does
 * nothing but sleep. What is planned at the source happens on the way.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../../src/engine/base/clock.js'

interface Sleeper {
  readonly at: bigint
  readonly wake: () => void
}

/** Real milliseconds between two looks at whether the program still does something. */
const betweenLooks = 3
/** Looks in a row without a sign of the program, after which it only sleeps. */
const quietLooks = 4
/** Simulated milliseconds of a first step while the program may be at work on something long. */
const slowStep = 20
const longestStep = 120_000

export class PlayedClock implements Clock {
  /** Whether a sleep of the program may be long, so that time may leap: it waits for the next window. */
  mayLeap: () => boolean = () => true
  #micros: bigint
  #signs = 0
  readonly #sleepers = new Set<Sleeper>()
  #plan: { readonly at: number; readonly happens: () => void }[] = []

  constructor(start: string) {
    this.#micros = BigInt(Date.parse(start)) * 1000n
  }

  /** The source's clock. No two readings are the same. */
  readonly source = { nowMicros: (): bigint => ++this.#micros }

  /** Milliseconds since the epoch, at the source. */
  get now(): number {
    return Number(this.#micros / 1000n)
  }

  nowMicros(): bigint {
    this.#signs++
    return ++this.#micros
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    this.#signs++
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', wake)
        this.#signs++
        resolve()
      }
      const sleeper = { at: this.#micros + BigInt(Math.ceil(milliseconds * 1000)), wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', wake, { once: true })
    })
  }

  /** What is to happen, each at its time in ms since the epoch. */
  plan(all: readonly { readonly at: number; readonly happens: () => void }[]): void {
    this.#plan = [...this.#plan, ...all].toSorted((a, b) => a.at - b.at)
  }

  /** Nothing of what was planned happens any more. */
  rest(): void {
    this.#plan = []
  }

  pass(milliseconds: number): void {
    // Not from the whole milliseconds of `now`: a sleep that ends within the present one would never end.
    this.passTo(Number(this.#micros) / 1000 + milliseconds)
  }

  /** Lets time pass, with all that happens on the way. Time does not go back. */
  passTo(milliseconds: number): void {
    for (let next = this.#plan[0]; next && next.at <= milliseconds; next = this.#plan[0]) {
      this.#plan.shift()
      this.#forward(next.at)
      next.happens()
    }
    this.#forward(milliseconds)
    for (const { at, wake } of [...this.#sleepers]) if (at <= this.#micros) wake()
  }

  #forward(milliseconds: number): void {
    const to = BigInt(Math.round(milliseconds * 1000))
    if (to > this.#micros) this.#micros = to
  }

  /** Does the work, and lets time pass whenever it only sleeps. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    let isDone = false
    const end = work().finally(() => {
      isDone = true
    })
    // The caller that awaits the work learns of its failure.
    end.catch(() => {})
    for (let quiet = 0; !isDone; ) {
      const before = this.#signs
      await pause(betweenLooks)
      quiet = this.#signs === before ? quiet + 1 : 0
      if (isDone || quiet < quietLooks || this.#sleepers.size === 0) continue
      const next = Math.min(...[...this.#sleepers].map(({ at }) => Number(at - this.#micros) / 1000))
      const [least, growth] = this.mayLeap() ? [500, 2] : [slowStep, 1.1]
      const step = Math.min(longestStep, least * growth ** (quiet - quietLooks))
      this.pass(Math.max(0.001, Math.min(next, step)))
    }
    return await end
  }
}
