/** The time of day: it is even, in microseconds, until someone sets the machine's clock. */
import { expect, it } from 'vitest'
import { Stamps, systemClock, timeOfDay } from '../../../src/engine/base/clock.js'

/** A machine whose clock can be set. `set`: by how many milliseconds. */
class Machine {
  #steady = 5000.125
  #set = 0
  readonly now = timeOfDay({
    wall: () => Math.floor(1_700_000_000_000 + this.#steady + this.#set),
    steady: () => this.#steady,
  })

  pass(milliseconds: number): bigint {
    this.#steady += milliseconds
    return this.now()
  }

  set(milliseconds: number): void {
    this.#set += milliseconds
  }
}

it.each([7_200_000, -7_200_000, 900, -900])('follows a clock that is set by %i ms', (milliseconds) => {
  const machine = new Machine()
  const before = machine.pass(1)
  machine.set(milliseconds)
  const after = machine.pass(1)
  expect(Math.abs(Number(after - before) / 1000 - milliseconds)).toBeLessThan(3)
  expect(machine.pass(0.25) - after).toBe(250n)
})

it('is even as long as nobody sets the clock', () => {
  const machine = new Machine()
  let last = machine.pass(0)
  for (let i = 0; i < 1000; i++) {
    const next = machine.pass(0.125)
    expect(next - last).toBe(125n)
    last = next
  }
})

it('stamps increase even if the clock is set back', () => {
  const machine = new Machine()
  const stamps = new Stamps({ nowMicros: machine.now, sleep: async () => {} })
  const first = stamps.next()
  machine.set(-3_600_000)
  expect(stamps.next()).toBe(first + 1n)
})

it('a sleep that no timer can hold does not end at once', async () => {
  const end = new AbortController()
  let isOver = false
  const slept = systemClock.sleep(25 * 86_400_000, end.signal).then(() => {
    isOver = true
  })
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(isOver).toBe(false)
  end.abort()
  await slept
})
