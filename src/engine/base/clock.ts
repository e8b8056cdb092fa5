/** Time as a parameter, so tests can pass their own clock. */
export interface Clock {
  /** Microseconds since the epoch. */
  nowMicros(): bigint
  /** Resolves after this many milliseconds, or as soon as the signal fires. Never rejects. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>
}

/** A difference of this many milliseconds means that the time of day was set. */
const setMs = 100

/**
 * Microseconds since the epoch, which increase evenly until the time of day is set: then they follow it at once. A
 * program that stays up may start before NTP has corrected the clock, and would otherwise run every job hours late.
 */
export function timeOfDay({
  wall,
  steady,
}: {
  /** The time of day, in whole milliseconds. It jumps when someone, or NTP, sets it. */
  wall(): number
  /** Never jumps, and has microseconds. It may stand still while the machine sleeps. */
  steady(): number
}): () => bigint {
  let ahead = wall() - steady()
  return () => {
    const [day, even] = [wall(), steady()]
    if (Math.abs(day - ahead - even) > setMs) ahead = day - even
    return BigInt(Math.round((ahead + even) * 1000))
  }
}

/** A timer of more milliseconds would fire at once. */
const longestTimer = 2 ** 31 - 1

let ownTime: (() => bigint) | undefined

export const systemClock: Clock = {
  nowMicros: () => {
    ownTime ??= timeOfDay({ wall: () => Date.now(), steady: () => performance.now() })
    return ownTime()
  },
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      let left = milliseconds
      let timer: NodeJS.Timeout | undefined
      const wait = (): void => {
        const part = Math.min(left, longestTimer)
        left -= part
        timer = setTimeout(left > 0 ? wait : done, part)
      }
      wait()
      signal?.addEventListener('abort', done, { once: true })
    }),
}

/**
 * Unique, increasing stamps for requests, in microseconds. The rows of a request carry its stamp as `_synced_at`. Of
 * two versions with the same `updated_at`, the one with the later stamp wins. `floor` is the newest stamp in the
 * warehouse: after a clock is set back, new requests still get later stamps than old ones.
 */
export class Stamps {
  #last: bigint
  #until: bigint | undefined
  #reached: (() => void) | undefined

  constructor(
    private readonly clock: Clock,
    floor = 0n,
  ) {
    this.#last = floor
  }

  /** Makes every later stamp newer than this one, which is in the warehouse. */
  raise(floor: bigint): void {
    if (floor > this.#last) this.#last = floor
  }

  /**
   * Keeps stamps from going beyond what is on record, whatever the clock does: from there on they count up by
   * microseconds. undefined: nothing is on record. `reached` is called when the clock is beyond it, as after a machine
   * slept, and may record more.
   */
  hold(until: bigint | undefined, reached?: () => void): void {
    this.#until = until
    this.#reached = reached
  }

  /** The last one that was given, or the floor. */
  get newest(): bigint {
    return this.#last
  }

  next(): bigint {
    const clock = this.clock.nowMicros()
    const until = this.#until ?? clock
    if (clock > until) this.#tell()
    const now = clock > until ? until : clock
    this.#last = now > this.#last ? now : this.#last + 1n
    return this.#last
  }

  /** Once for each hold. */
  #tell(): void {
    const reached = this.#reached
    this.#reached = undefined
    reached?.()
  }
}
