/** How long to wait for a database that is away, and how briefly after a signal. */
import { describe, expect, it } from 'vitest'
import { Retry, Stop } from '../../../src/engine/base/errors.js'
import { refusal } from '../../support/harness/server.js'
import { RetryPolicy } from '../../support/harness/warehouse.js'
import { VirtualClock } from '../../support/world/clocks.js'

const classify = (error: unknown): Error => error as Error
const away = (): Promise<never> => Promise.reject(new Retry('away'))
const never = (): Promise<never> => new Promise(() => {})

/** The seconds of the clock until the work ends. */
async function seconds(clock: VirtualClock, work: Promise<unknown>): Promise<number> {
  const begun = clock.now
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  work.then(over, over)
  while (!isOver && clock.now - begun < 600_000) await clock.pass(250)
  return (clock.now - begun) / 1000
}

/** Of a database that was there before. */
async function begun() {
  const clock = new VirtualClock()
  const controller = new AbortController()
  const retryPolicy = new RetryPolicy({ clock, classify, signal: controller.signal })
  await retryPolicy.trying(async () => 'there')
  return { clock, retryPolicy, signal: () => controller.abort() }
}

describe('a database that is away', () => {
  it('is given up within two minutes, including everything that a run does at its end', async () => {
    const { clock, retryPolicy } = await begun()
    const work = refusal(retryPolicy.trying(away))
    expect(await seconds(clock, work)).toBeLessThan(100)
    expect(await work).toMatchObject({ name: 'Stop', exitCode: 3 })
    expect(retryPolicy.hasGivenUp).toBe(true)
    // The end of the run is tried once.
    expect(await seconds(clock, refusal(retryPolicy.trying(away)))).toBeLessThan(1)
  })

  it('is given up by everything that waits for it, whenever each began', async () => {
    const { clock, retryPolicy } = await begun()
    const first = refusal(retryPolicy.trying(away))
    await clock.pass(60_000)
    const second = refusal(retryPolicy.trying(away))
    expect(await seconds(clock, Promise.all([first, second]))).toBeLessThan(40)
  })

  it('is back with the first success', async () => {
    const { clock, retryPolicy } = await begun()
    let attempts = 0
    const work = retryPolicy.trying(() => (++attempts < 6 ? away() : Promise.resolve('back')))
    expect(await seconds(clock, work)).toBeLessThan(20)
    expect(await work).toBe('back')
    expect(retryPolicy.hasGivenUp).toBe(false)
  })

  it('at a wrong address is reported immediately', async () => {
    const clock = new VirtualClock()
    const work = refusal(new RetryPolicy({ clock, classify }).trying(away))
    expect(await seconds(clock, work)).toBeLessThan(5)
    expect(await work).toBeInstanceOf(Stop)
  })
})

describe('after a signal', () => {
  it('a long wait ends, and a database that is away is tried for a few more seconds', async () => {
    const { clock, retryPolicy, signal } = await begun()
    const work = refusal(retryPolicy.trying(away))
    await clock.pass(20_000)
    signal()
    expect(await seconds(clock, work)).toBeLessThan(5)
    // Later work doesn't try at all: a locked SQLite file would block the process for seconds each time.
    let asked = 0
    const later = retryPolicy.trying(() => {
      asked++
      return away()
    })
    expect(await seconds(clock, refusal(later))).toBeLessThan(1)
    expect(asked).toBe(0)
  })

  it('hanging work is abandoned, and work that ends is not', async () => {
    const { clock, retryPolicy, signal } = await begun()
    const hanging = refusal(retryPolicy.trying(never))
    const slow = retryPolicy.trying(() => clock.sleep(4000).then(() => 'done'))
    await clock.pass(1000)
    signal()
    expect(await seconds(clock, hanging)).toBeLessThan(8)
    expect(await hanging).toBeInstanceOf(Stop)
    expect(await slow).toBe('done')
  })
})
