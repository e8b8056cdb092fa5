/** Rules of a script for one event: what is sent, and what the lists show meanwhile. */
import { describe, expect, it } from 'vitest'
import type { EventAction, Rule, Sandbox } from '../../src/sandbox/index.js'
import { emptySandbox, ids, noon, shop } from '../support/harness/requests.js'
import { customer, type Receiver, type ReceiverOptions, receiver } from './receiver.js'

const scripted = async (
  rules: readonly Rule[],
  options: ReceiverOptions = {},
): Promise<[Sandbox, Receiver]> => {
  const heard = await receiver(options)
  return [await emptySandbox({ script: rules, webhooks: { hooks: [heard] } }), heard]
}

/** What arrives for the event of one new customer under these actions. */
async function arriving(event: EventAction): Promise<Receiver['received']> {
  const [sandbox, { received }] = await scripted([{ event }])
  sandbox.store.put(101, 'customers', customer(1))
  await sandbox.delivered()
  return received
}

describe('a rule of events', () => {
  it('matches by tenant, resource, id, action and count', async () => {
    const cases: readonly [Rule['when'], readonly number[]][] = [
      [{ tenant: 102 }, [1, 2, 3, 4, 1]],
      [{ tenant: 101 }, []],
      [{ resource: 'vehicles' }, [1, 2, 3, 4, 1]],
      [{ resource: ['customers'] }, []],
      [{ id: [1, 3] }, [2, 4]],
      [{ action: 'updated' }, [1, 2, 3, 4]],
      [{ nth: 2 }, [1, 3, 4, 1]],
      [{ every: 2 }, [1, 3, 1]],
      [{ from: 2, to: 3 }, [1, 4, 1]],
      [{ action: 'created', nth: 1 }, [2, 3, 4, 1]],
    ]
    for (const [when, expected] of cases) {
      const [sandbox, heard] = await scripted([{ when, event: { kind: 'drop' } }])
      for (const record of [1, 2, 3, 4].map((id) => customer(id)).concat(customer(1, '05'))) {
        sandbox.store.put(101, 'customers', record)
        await sandbox.delivered()
      }
      expect([when, heard.ids()]).toEqual([when, expected])
    }
  })

  it('matches at random, and a limited number of times', async () => {
    const [sandbox, heard] = await scripted([
      { when: { probability: 0.5, seed: 3 }, times: 4, event: { kind: 'drop' } },
    ])
    for (let id = 1; id <= 40; id += 1) sandbox.store.put(101, 'customers', customer(id))
    await sandbox.delivered()
    expect(heard.ids().length).toBe(36)
    expect(heard.ids()).not.toEqual(Array.from({ length: 36 }, (_, i) => i + 5))
  })

  it('does not affect requests, and rules for requests do not affect events', async () => {
    const [sandbox, heard] = await scripted([
      { when: { nth: 1 }, event: { kind: 'drop' } },
      { when: { nth: 1 }, fault: { kind: 'status', status: 503 } },
    ])
    expect((await shop(sandbox, 'customers')).status).toBe(503)
    sandbox.store.put(101, 'customers', customer(1))
    sandbox.store.put(101, 'customers', customer(2))
    await sandbox.delivered()
    expect(heard.ids()).toEqual([2])
  })

  it.each([
    [{ when: { page: 1 }, event: { kind: 'drop' } }, 'unknown key rules[0].when.page'],
    [{ when: { action: 'created' }, fault: { kind: 'drop' } }, 'unknown key rules[0].when.action'],
    [{ when: { action: 'gone' }, event: { kind: 'drop' } }, 'rules[0].when.action must be one of created'],
    [{ event: { kind: 'lose' } }, 'rules[0].event.kind must be one of drop, twice, delay, before'],
    [{ event: { kind: 'drop' }, fault: { kind: 'drop' } }, 'rules[0].fault must be in a rule without event'],
  ])('is rejected if it is wrong: %j', async (rule, message) => {
    const sandbox = await emptySandbox()
    expect(() => sandbox.script([rule as Rule])).toThrow(message)
  })
})

describe('an event', () => {
  it('is dropped', async () => {
    expect(await arriving({ kind: 'drop' })).toEqual([])
  })

  it('is sent twice', async () => {
    const [first, second, ...more] = await arriving({ kind: 'twice' })
    expect(first).toEqual(second)
    expect(more).toEqual([])
  })

  it('is delayed, so that the next one overtakes it', async () => {
    const [sandbox, heard] = await scripted([{ when: { id: 1 }, event: { kind: 'delay', ms: 300 } }])
    for (const id of [1, 2]) sandbox.store.put(101, 'customers', customer(id))
    await sandbox.delivered()
    expect(heard.ids()).toEqual([2, 1])
  })

  it('comes with a wrong secret', async () => {
    expect(await arriving({ kind: 'wrongSecret' })).toMatchObject([{ secret: 'not sandbox-secret' }])
  })

  it('has an unknown type', async () => {
    const types = await Promise.all([
      arriving({ kind: 'unknownType' }),
      arriving({ kind: 'unknownType', type: 'LaborGuide' }),
    ])
    expect(types.map(([heard]) => [heard!.event.event, heard!.event.payload['type']])).toEqual([
      ['estimate.created', 'Estimate'],
      ['labor_guide.created', 'LaborGuide'],
    ])
  })

  it('names another tenant', async () => {
    const [strange] = await arriving({ kind: 'otherTenant' })
    expect(strange!.event.payload).toMatchObject({ tenant_id: 999_999, id: 1, data: customer(1) })
    const [other] = await arriving({ kind: 'otherTenant', tenant: 102 })
    expect(other!.event.payload['tenant_id']).toBe(102)
  })

  it('shows a version of the future, or one that the source never has; the record does not change', async () => {
    const shown = async (event: EventAction) => (await arriving(event))[0]!.event.payload['data']
    expect(await shown({ kind: 'future' })).toEqual({
      ...customer(1),
      updated_at: noon.replace('12:00:00', '15:00:00.000000'),
    })
    expect(await shown({ kind: 'future', hours: 24 })).toMatchObject({
      updated_at: '2026-03-03T12:00:00.000000Z',
    })
    expect(await shown({ kind: 'forged' })).toEqual(customer(1, '01'))
    const [sandbox] = await scripted([{ event: { kind: 'forged', ms: 5000 } }])
    sandbox.store.put(101, 'customers', customer(1))
    await sandbox.delivered()
    expect(sandbox.store.get(101, 'customers', 1)).toEqual(customer(1))
  })
})

describe('an event that is sent before the record can be read', () => {
  const before: Rule = { event: { kind: 'before', ms: 0 } }
  const list = 'customers?updated_after=1970-01-01T00:00:00Z'

  /** What the lists and a read by id show while the event is under way, and afterwards. */
  async function reading(change: (sandbox: Sandbox) => void, given: readonly Rule[] = [before]) {
    const seen: unknown[] = []
    const look = async () => {
      const [listed, whole, one] = await Promise.all(
        [list, 'customers', 'customers/1'].map((path) => shop(sandbox, path)),
      )
      const at = one!.status === 200 ? one!.body.updated_at.slice(17, 19) : one!.status
      seen.push([ids(listed!), whole!.body.total_count, at])
    }
    const [sandbox] = await scripted([], { before: look })
    sandbox.store.put(101, 'customers', customer(1))
    sandbox.store.put(101, 'customers', customer(2, '03'))
    await sandbox.delivered()
    seen.length = 0
    sandbox.script(given)
    change(sandbox)
    await sandbox.delivered()
    await look()
    return seen
  }

  it('of a change: the old version is in its old place until then', async () => {
    const seen = await reading(({ store }) => store.put(101, 'customers', customer(1, '05')))
    expect(seen).toEqual([
      [[2, 1], 2, '00'],
      [[1, 2], 2, '05'],
    ])
  })

  it('of a creation, whose id no other record gets', async () => {
    const next: number[] = []
    const seen = await reading(({ store }) => {
      store.put(101, 'customers', customer(3, '04'))
      next.push(store.collection(101, 'customers').nextKey)
    })
    expect(next).toEqual([4])
    expect(seen).toEqual([
      [[2, 1], 2, '00'],
      [[3, 2, 1], 3, '00'],
    ])
  })

  it('of a deletion', async () => {
    const seen = await reading(({ store }) => store.remove(101, 'customers', 1))
    expect(seen).toEqual([
      [[2, 1], 2, '00'],
      [[2], 1, 404],
    ])
  })

  it('and changes again meanwhile: the last version is shown once all its events have been sent', async () => {
    const seen = await reading(({ store }) => {
      for (const second of ['05', '06', '07']) store.put(101, 'customers', customer(1, second))
    })
    expect(seen.length).toBe(4)
    expect(seen.slice(0, 3)).toEqual(Array(3).fill([[2, 1], 2, '00']))
    expect(seen[3]).toEqual([[1, 2], 2, '07'])
  })
})
