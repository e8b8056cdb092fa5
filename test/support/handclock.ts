import type { Clock } from '../../src/clock.js'

/** A clock for a program and its sandbox alike: who sleeps on it finds that the time is over. */
export class SharedClock implements Clock {
  #micros: bigint
  /** How far the program's clock is from the sandbox's, in microseconds. */
  skew = 0n

  constructor(start = '2026-03-01T00:00:00Z') {
    this.#micros = BigInt(Date.parse(start)) * 1000n
  }

  nowMicros(): bigint {
    return ++this.#micros
  }

  async sleep(milliseconds: number): Promise<void> {
    this.#micros += BigInt(Math.ceil(milliseconds)) * 1000n
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** The same time, as a program sees it whose machine's clock is wrong. */
  get skewed(): Clock {
    return {
      nowMicros: () => this.nowMicros() + this.skew,
      sleep: (milliseconds) => this.sleep(milliseconds),
    }
  }
}
