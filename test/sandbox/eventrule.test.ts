/** Rules of a script for one event: what is sent, and what the lists show meanwhile. How rules count: fault.test.ts. */
import { describe, expect, it } from 'vitest'
import type { EventAction, Rule, Sandbox } from '../../src/sandbox/index.js'
import { emptySandbox, ids, shop } from '../support/harness/requests.js'
import { customer, type Receiver, type ReceiverOptions, receiver } from './receiver.js'

const scripted = async (
  rules: readonly Rule[],
  options: ReceiverOptions = {},
): Promise<[Sandbox, Receiver]> => {
  const heard = await receiver(options)
  return [await emptySandbox({ script: rules, webhooks: { hooks: [heard] } }), heard]
}

describe('a rule of events', () => {
  /** The records whose events still come, of four that are created and the first one's change. */
  it.each<[Rule['when'], readonly number[]]>([
    [{ tenant: 102 }, [1, 2, 3, 4, 1]],
    [{ tenant: 101 }, []],
    [{ resource: 'vehicles' }, [1, 2, 3, 4, 1]],
    [{ resource: ['customers'] }, []],
    [{ id: [1, 3] }, [2, 4]],
    [{ action: 'updated' }, [1, 2, 3, 4]],
    [{ nth: 2 }, [1, 3, 4, 1]],
    [{ action: 'created', nth: 1 }, [2, 3, 4, 1]],
  ])('matches %j', async (when, expected) => {
    const [sandbox, heard] = await scripted([{ when, event: { kind: 'drop' } }])
    for (const record of [1, 2, 3, 4].map((id) => customer(id)).concat(customer(1, '05'))) {
      sandbox.store.put(101, 'customers', record)
      await sandbox.delivered()
    }
    expect(heard.ids()).toEqual(expected)
  })

  it('does not affect requests, and rules for requests do not affect events', async () => {
    const [sandbox, heard] = await scripted([
      { when: { nth: 1 }, event: { kind: 'drop' } },
      { when: { nth: 1 }, fault: { kind: 'status', status: 503 } },
    ])
    expect((await shop(sandbox, 'customers')).status).toBe(503)
    for (const id of [1, 2]) sandbox.store.put(101, 'customers', customer(id))
    await sandbox.delivered()
    expect(heard.ids()).toEqual([2])
  })
})

/**
 * What arrives for the event of one new customer under these actions. The record itself does not change. Those of the future
 * have a version that the source will have, and a forged one a version that it never has.
 */
const actions = `
{"kind":"drop"} → []
{"kind":"twice"} → [{"event":{"payload":{"id":1}}},{"event":{"payload":{"id":1}}}]
{"kind":"wrongSecret"} → [{"secret":"not sandbox-secret"}]
{"kind":"unknownType"} → [{"event":{"event":"estimate.created","payload":{"type":"Estimate"}}}]
{"kind":"unknownType","type":"LaborGuide"} → [{"event":{"event":"labor_guide.created","payload":{"type":"LaborGuide"}}}]
{"kind":"otherTenant"} → [{"event":{"payload":{"tenant_id":999999,"id":1,"data":{"id":1,"last_name":"Müller"}}}}]
{"kind":"otherTenant","tenant":102} → [{"event":{"payload":{"tenant_id":102}}}]
{"kind":"future"} → [{"event":{"payload":{"data":{"id":1,"updated_at":"2026-03-02T15:00:00.000000Z"}}}}]
{"kind":"future","hours":24} → [{"event":{"payload":{"data":{"updated_at":"2026-03-03T12:00:00.000000Z"}}}}]
{"kind":"forged"} → [{"event":{"payload":{"data":{"id":1,"updated_at":"2026-01-01T00:00:01.000000Z"}}}}]
`
it.each(actions.trim().split('\n'))('%s', async (line) => {
  const [event, arriving = []] = line.split(' → ').map((text) => JSON.parse(text))
  const [sandbox, { received }] = await scripted([{ event: event as EventAction }])
  sandbox.store.put(101, 'customers', customer(1))
  await sandbox.delivered()
  expect(received).toMatchObject(arriving)
  expect(new Set(received.map(({ text }) => text)).size).toBe(Math.min(received.length, 1))
  expect(sandbox.store.get(101, 'customers', 1)).toEqual(customer(1))
})

it('an event is delayed, so that the next one overtakes it', async () => {
  const [sandbox, heard] = await scripted([{ when: { id: 1 }, event: { kind: 'delay', ms: 300 } }])
  for (const id of [1, 2]) sandbox.store.put(101, 'customers', customer(id))
  await sandbox.delivered()
  expect(heard.ids()).toEqual([2, 1])
})

/** What the lists and a read by id of customer 1 show while the event of a change is under way, and afterwards. */
it.each<[string, change: (store: Sandbox['store']) => void, last: unknown[], looks: number]>([
  ['a change', (store) => store.put(101, 'customers', customer(1, '05')), [[1, 2], 2, '05'], 2],
  ['a deletion', (store) => store.remove(101, 'customers', 1), [[2], 1, 404], 2],
  [
    'a creation, whose id no other record gets',
    (store) => {
      store.put(101, 'customers', customer(3, '04'))
      expect(store.collection(101, 'customers').nextKey).toBe(4)
    },
    [[3, 2, 1], 3, '00'],
    2,
  ],
  [
    'changes, the last of which is shown once all events have been sent',
    (store) => {
      for (const second of ['05', '06', '07']) store.put(101, 'customers', customer(1, second))
    },
    [[1, 2], 2, '07'],
    4,
  ],
])('an event is sent before the lists show %s', async (_, change, last, looks) => {
  const seen: unknown[] = []
  const look = async () => {
    const paths = ['customers?updated_after=1970-01-01T00:00:00Z', 'customers', 'customers/1']
    const [listed, whole, one] = await Promise.all(paths.map((path) => shop(sandbox, path)))
    const at = one!.status === 200 ? one!.body.updated_at.slice(17, 19) : one!.status
    seen.push([ids(listed!), whole!.body.total_count, at])
  }
  const [sandbox] = await scripted([], { before: look })
  sandbox.store.put(101, 'customers', customer(1))
  sandbox.store.put(101, 'customers', customer(2, '03'))
  await sandbox.delivered()
  seen.length = 0
  sandbox.script([{ event: { kind: 'before', ms: 0 } }])
  change(sandbox.store)
  await sandbox.delivered()
  await look()
  expect(seen).toEqual([...Array(looks - 1).fill([[2, 1], 2, '00']), last])
})
