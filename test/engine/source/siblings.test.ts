/** Processes that share a rate-limit window by the row of a real warehouse, against the sandbox (docs/scale.md). */
import { describe, expect, it, vi } from 'vitest'
import type { HasSiblings } from '../../../src/engine/source/rate/siblings.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import type { Source } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { client, request } from '../../support/harness/server.js'
import { reopen, rowsOf, sharedWindow, warehouses } from '../../support/harness/warehouse.js'
import { settled, VirtualClock } from '../../support/world/clocks.js'

const limit = 100
/** From the start until just after the window's end: before the row would count as away. */
const untilNext = 37_500

describe.each(warehouses())('$name: processes that share a window', (kind) => {
  async function world() {
    const clock = new VirtualClock(1_700_000_003_000)
    const sandbox = await sandboxOfFile({
      data: 'none',
      tenants: [{ id: 7 }],
      clock,
      rate: { limit, window: 60 },
    })
    const address = await kind.migrated()
    const join = async (siblings: HasSiblings = 'there') => {
      const warehouse = await reopen(address)
      const { url: baseUrl, secret } = sandbox
      const timeouts = { connect: 5000, headers: 5000, body: 5000, request: 10_000 }
      const row = sharedWindow(warehouse)
      const asked: Promise<unknown>[] = []
      const take: typeof row.take = (claim) => {
        const answer = row.take(claim)
        asked.push(answer)
        return answer
      }
      const sharing = { siblings, row: { ...row, take } }
      const options = { baseUrl, secret, clock, timeouts, sharing, connections: 4, maxWait: 120_000 }
      return { warehouse, source: client(baseUrl, options).source, answered: () => Promise.all(asked) }
    }
    return { clock, sandbox, join }
  }

  /** Asks for pages without end, with so many requests at a time. */
  function hungry(source: Source): { answered: number } {
    const tally = { answered: 0 }
    const ask = async (): Promise<void> => {
      for (;;) {
        await source.list(request())
        tally.answered++
      }
    }
    for (let i = 0; i < 4; i++) void ask().catch(() => {})
    return tally
  }

  /** Waits until so many requests were made, and then whether there are more. */
  async function made(sandbox: Sandbox, count: number): Promise<number> {
    await vi.waitFor(() => expect(sandbox.requests.length).toBeGreaterThanOrEqual(count), { timeout: 20_000 })
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 5))
    await settled()
    return sandbox.requests.length
  }

  const refused = ({ requests }: Sandbox): number => requests.filter(({ status }) => status === 429).length

  it('use each window up, and none is refused', async () => {
    const { clock, sandbox, join } = await world()
    const sources = [(await join()).source, (await join()).source, (await join()).source]
    const tallies = sources.map(hungry)
    // Each one's first request may count twice: when it is answered, another has already told of it.
    const first = await made(sandbox, limit - 2)
    expect(first).toBeLessThanOrEqual(limit)
    for (const { answered } of tallies) expect(answered).toBeGreaterThan(3)
    await clock.pass(untilNext)
    expect(await made(sandbox, first + limit)).toBe(first + limit)
    expect(refused(sandbox)).toBe(0)
  })

  it('let a single process that finds no row be, and one that finds a row join', async () => {
    const { clock, sandbox, join } = await world()
    const alone = await join('perhaps')
    await alone.source.list(request())
    await vi.waitFor(async () => expect(await rowsOf(alone.warehouse, 'sync_rate')).toEqual([]))
    const sharing = await join()
    await sharing.source.list(request())
    await sharing.source.list(request())
    await vi.waitFor(async () =>
      expect(await rowsOf(alone.warehouse, 'sync_rate')).toMatchObject([{ taken: 3 }]),
    )
    const joining = await join('perhaps')
    hungry(joining.source)
    hungry(sharing.source)
    await made(sandbox, limit - 6)
    await clock.pass(untilNext)
    await made(sandbox, 2 * limit - 8)
    expect(refused(sandbox)).toBe(0)
    expect(await rowsOf(alone.warehouse, 'sync_rate')).toMatchObject([{ rule: '42', limit, taken: limit }])
  })

  it('go on after a window that a killed process took whole, and of which nobody had a response', async () => {
    const { clock, sandbox, join } = await world()
    const { source, warehouse, answered } = await join()
    for (let i = 0; i < 3; i++) await source.list(request())
    await clock.pass(untilNext)
    const server = Math.floor(clock.now / 1000)
    const whole = { resets_at: server + 2, taken: limit }
    await warehouse.write([warehouse.db.updateTable('sync_rate').set(whole).compile()])
    hungry(source)
    expect(await made(sandbox, 3)).toBe(3)
    // A row that is answered two seconds later counts as away.
    for (let i = 0; i < 25; i++) await clock.pass(100).then(answered)
    expect(await made(sandbox, 3 + limit)).toBe(3 + limit)
    expect(refused(sandbox)).toBe(0)
  })

  it('let one that has no right to write the row go on as if it were alone', async () => {
    const { sandbox, join } = await world()
    const sharing = await join()
    for (let i = 0; i < 3; i++) await sharing.source.list(request())
    const joining = await join('perhaps')
    await joining.source.list(request())
    await joining.warehouse.close()
    hungry(joining.source)
    expect(await made(sandbox, limit - 10)).toBeLessThanOrEqual(limit)
    expect(refused(sandbox)).toBe(0)
  })

  it('go on one request at a time while the warehouse is away, and leave a hundredth', async () => {
    const { sandbox, join } = await world()
    const { source, warehouse } = await join()
    expect(await rowsOf(warehouse, 'sync_rate')).toEqual([])
    await source.list(request())
    await warehouse.close()
    let inflight = 0
    let most = 0
    sandbox.onRequest(async () => {
      most = Math.max(most, ++inflight)
      await settled()
      inflight--
    })
    hungry(source)
    const left = await made(sandbox, limit - 1)
    expect(left).toBe(limit - 1)
    expect(most).toBe(1)
  })
})
