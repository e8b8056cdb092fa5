import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox, serviceTemplate, template } from '../../src/sandbox/index.js'
import { configure, type Ended, Program, program } from './process.js'
import { registersAgree } from './registers.js'
import { contents, reopen, warehouses } from './warehouse.js'

const resources = ['repair_orders', 'notes', 'customers']
const base = Date.parse('2026-03-01T00:00:00Z')
const time = (n: number): string => new Date(base + n * 1000).toISOString()

/** Numbers in [0, 1), the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

function fill(sandbox: Sandbox): void {
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    for (let id = 1; id <= 450; id++) sandbox.store.put(1, resource, template(resource, id, time(id)))
}

/** Changes of the n-th round: three pages of notes, orders with other children, and new customers. */
function change({ store }: Sandbox, round: number): void {
  const at = (n: number): string => time(1000 * round + n)
  for (let n = 1; n <= 230; n++) {
    const note = { ...template('notes', ((round * 37 + n) % 450) + 1, at(n)), description: `round ${round}` }
    store.put(1, 'notes', note)
  }
  for (let n = 1; n <= 120; n++) {
    const services = [serviceTemplate(100_000 * round + n, at(n))]
    store.put(1, 'repair_orders', { ...template('repair_orders', n, at(n)), services })
  }
  for (let n = 1; n <= 5; n++) store.put(1, 'customers', template('customers', 1000 + round * 5 + n, at(n)))
}

/**
 * Law 3, with real processes: the program is killed at random instants, started again and killed again, while the
 * source goes on changing between its deaths; after a run that ends by itself the warehouse is the same as one that
 * was made without any of this.
 */
export function killSuite({ kills, seed }: { kills: number; seed: number }): void {
  let sandbox: Sandbox
  let main = ''
  beforeAll(async () => {
    main = program()
    sandbox = await createSandbox({ data: 'none' })
  })
  afterAll(() => sandbox.close())

  describe.each(warehouses())('$name', (kind) => {
    const finish = async (config: string): Promise<Ended> => {
      const ended = await new Program(main, ['sync', '--config', config, '--json']).ended
      expect(ended.code, ended.stderr).toBe(0)
      return ended
    }

    it(`is the same after ${kills} kills at random instants`, { timeout: 3_600_000 }, async () => {
      sandbox.reset()
      fill(sandbox)
      const random = randomFrom(seed)
      const [address, other] = [kind.address(), kind.address()]
      const config = configure(sandbox, address, resources)
      const began = performance.now()
      const undisturbed = configure(sandbox, other, resources)
      await finish(undisturbed)
      const whole = performance.now() - began
      let cut = 0
      for (let round = 1; cut < kills; round++) {
        for (let i = 0; i < 4; i++) {
          const run = new Program(main, ['sync', '--config', config, '--json', '--quiet'])
          const timer = setTimeout(() => run.kill('SIGKILL'), 100 + random() * whole)
          const ended = await run.ended
          clearTimeout(timer)
          if (ended.signal === 'SIGKILL') cut++
          else expect(ended.code, ended.stderr).toBe(0)
        }
        change(sandbox, round)
        await finish(config)
        await finish(undisturbed)
        const [mine, wanted] = [await reopen(address), await reopen(other)]
        expect(await contents(mine), `after ${cut} kills`).toEqual(await contents(wanted))
        await registersAgree(mine, resources.length)
        await mine.close()
        await wanted.close()
      }
      expect(cut).toBeGreaterThanOrEqual(kills)
    })
  })
}
