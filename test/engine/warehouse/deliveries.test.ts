/** The queue of deliveries: what a round sends, who gets it, and what becomes of it when a worker or the queue is gone. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { describeError } from '../../../src/engine/base/errors.js'
import { postgresOfRun } from '../../support/harness/clones.js'
import { askServer, databaseAt, onServer } from '../../support/harness/databases.js'
import { known } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import { refusal } from '../../support/harness/server.js'
import {
  type Deliveries,
  deliveriesOf,
  openWarehouse,
  partName,
  type Round,
  type Taken,
  type Warehouse,
  waitsAfterBug,
} from '../../support/harness/warehouse.js'

const name = `q_${randomBytes(6).toString('hex')}`
const server = postgresOfRun().url
const url = databaseAt(server, name)
const opened: { close(): Promise<void> }[] = []
let schemas = 0

beforeAll(() => onServer(server, `create database ${name}`))
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})
afterAll(() => onServer(server, `drop database ${name} with (force)`))

async function warehouseIn(schema = `s${++schemas}`, address = url): Promise<Warehouse> {
  const warehouse = await openWarehouse({ url: address, schema, model: known })
  opened.push(warehouse)
  return warehouse
}

async function queueOf(warehouse: Warehouse, works = true): Promise<Deliveries> {
  const queue = await deliveriesOf(warehouse).open({ works, trouble: () => {} })
  opened.push(queue)
  return queue
}

const at = '2026-01-01T00:00:00.000000Z'
const round = (plannedAt: string, shards: number, job = 'hourly'): Round => ({ job, plannedAt, shards })

/** A queue of its own, in which a round waits. */
async function begun(shards: number) {
  const warehouse = await warehouseIn()
  const queue = await queueOf(warehouse)
  await queue.send(round('a', shards))
  const schema = `s${schemas}_queue`
  return {
    queue,
    warehouse,
    schema,
    taken: async (): Promise<Taken> =>
      (await queue.take('here')) ?? Promise.reject(new Error('Nothing waits')),
    /** Every delivery, and what has become of it. */
    seen: async () =>
      ((await deliveriesOf(warehouse).seen())?.deliveries ?? []).map(
        ({ part, status }) => `${part} ${status}`,
      ),
    /** As if its worker had been silent for so long. */
    silence: (part: string, interval: string) =>
      askServer(
        url,
        `update ${schema}.job set heartbeat_on = now() - interval '${interval}' where data ->> 'part' = $1`,
        [part],
      ),
    /** Makes the only delivery that waits due now. How many seconds it had to wait. */
    hasten: async () => {
      const [{ left = 0 } = {}] = await askServer<{ left: number }>(
        url,
        `update ${schema}.job j set start_after = now() from ${schema}.job before
         where j.id = before.id and j.state in ('created', 'retry') and j.start_after > now()
         returning extract(epoch from before.start_after - now())::float8 as left`,
      )
      return left
    },
  }
}

describe('a round', () => {
  it('is sent once, and the next begins when nothing of it waits or is under way', async () => {
    const { queue } = await begun(2)
    expect(await queue.send(round('a', 2))).toBe(0)
    expect(await queue.send(round('b', 2))).toBeUndefined()
    expect(await queue.send(round('b', 3, 'nightly'))).toBe(3)
  })

  it('ends with one delivery for the whole warehouse, which its last shard sends; of another in the same database it is none', async () => {
    const other = await queueOf(await warehouseIn())
    const { queue, seen, taken } = await begun(2)
    const [first, second] = [await taken(), await taken()]
    expect([first, second].map(({ shard }) => partName(shard)).sort()).toEqual(['0/2', '1/2'])
    expect(await queue.take('here')).toBeUndefined()
    await Promise.all([first.done(), second.done()])
    expect(await other.take('here')).toBeUndefined()
    const whole = await taken()
    expect(whole.shard).toBeUndefined()
    expect(await queue.take('here')).toBeUndefined()
    await whole.done()
    expect(await seen()).toEqual(['0/2 done', '1/2 done', 'whole done'])
    expect(await queue.send(round('b', 2))).toBe(2)
  })
})

describe('a delivery', () => {
  it('that was cut short comes back behind the others, one that failed after a while', async () => {
    const { queue, taken, hasten } = await begun(3)
    const first = await taken()
    await first.again('now')
    const failed = await taken()
    await failed.again('later')
    const rest = [await taken(), await taken()].map(({ shard }) => partName(shard))
    expect(rest.at(-1)).toBe(partName(first.shard))
    expect(rest).not.toContain(partName(failed.shard))
    expect(await queue.take('here')).toBeUndefined()
    const left = await hasten()
    expect([left > 10, left <= 15]).toEqual([true, true])
  })

  it('is due later and later while its runs end by an error of ours', async () => {
    const { queue, taken, hasten } = await begun(1)
    for (const [deaths, wait] of waitsAfterBug.entries()) {
      const broken = await taken()
      expect(broken.deaths).toBe(deaths)
      await broken.again('broken')
      expect(await queue.take('here')).toBeUndefined()
      const left = await hasten()
      expect([left > wait - 5, left <= wait]).toEqual([true, true])
    }
    expect(await taken()).toMatchObject({ deaths: waitsAfterBug.length })
  })

  it('whose worker fell silent goes to another, and what the first one says of it then is not heard', async () => {
    const { taken, silence, seen, hasten } = await begun(1)
    const before = await taken()
    await silence('0/1', '20 seconds')
    await expect.poll(seen, { timeout: 15_000 }).toEqual(['0/1 waiting'])
    await hasten()
    const after = await taken()
    expect(after.deaths).toBe(1)
    await before.done()
    await before.again('now')
    expect(await seen()).toEqual(['0/1 active'])
    await after.done()
    expect(await seen()).toEqual(['0/1 done', 'whole waiting'])
  })

  it('counts as waiting where no worker is left to put it back', async () => {
    const { queue, warehouse, taken, silence, seen } = await begun(1)
    await taken()
    await queue.close()
    await silence('0/1', '2 minutes')
    expect(await seen()).toEqual(['0/1 waiting'])
    expect((await deliveriesOf(warehouse).seen())?.workers).toBe(0)
  })
})

describe('a queue', () => {
  it('that was dropped is made again, and the round that was under way is complete in the end', async () => {
    const { queue, schema, taken, seen } = await begun(2)
    const first = await taken()
    await onServer(url, `drop schema ${schema} cascade`)
    expect(await queue.take('here')).toBeUndefined()
    await first.touch()
    await first.done()
    // The first shard's, too: the warehouse knows that it has run.
    expect(await seen()).toEqual(['0/2 waiting', '1/2 waiting'])
  })

  it('counts the workers that are up, and no other program', async () => {
    const warehouse = await warehouseIn()
    const workers = async () => (await deliveriesOf(warehouse).seen())?.workers
    expect(await workers()).toBeUndefined()
    await queueOf(warehouse, false)
    expect(await deliveriesOf(warehouse).seen()).toEqual({ workers: 0, idle: null, deliveries: [] })
    const one = await queueOf(warehouse)
    await queueOf(warehouse)
    expect(await workers()).toBe(2)
    await one.close()
    expect(await workers()).toBe(1)
  })

  it('that several make at the same moment is one, and one that is dropped while it is made is made again', async () => {
    const warehouses = await Promise.all([1, 2, 3, 4].map(() => warehouseIn('together')))
    const queues = await Promise.all(warehouses.map((warehouse) => queueOf(warehouse)))
    const sent = await Promise.all(queues.map((queue) => queue.send(round(at, 2))))
    expect(sent.toSorted()).toEqual([0, 0, 0, 2])

    for (const waits of [[20], [80], Array<number>(25).fill(0)]) {
      const opening = queueOf(await warehouseIn('together'))
      opening.catch(() => {})
      for (const wait of waits) {
        await sleep(wait)
        await onServer(url, 'drop schema if exists together_queue cascade')
      }
      const queue = await opening
      expect(await queue.send(round(at, 2))).toBe(2)
    }
  })

  it('whose row somebody holds says who', async () => {
    const { queue, warehouse, schema } = await begun(1)
    const holder = new pg.Client({ connectionString: url, application_name: 'somebody' })
    await holder.connect()
    await holder.query(`begin; select name from ${schema}.queue for update`)
    const error = await refusal(warehouse.trying(() => queue.send(round(at, 2, 'nightly'))))
    expect(describeError(error)).toMatch(/somebody \(pid \d+\) holds a lock on it/)
    await holder.end()
    expect(await queue.send(round(at, 2, 'nightly'))).toBe(2)
  })

  it('that was changed by hand, or is of a newer version, is refused with what to type', async () => {
    const { queue, schema, warehouse } = await begun(1)
    await onServer(url, `alter table ${schema}.job drop column heartbeat_on`)
    await expect(queue.take('here')).rejects.toMatchObject({
      exitCode: 3,
      hint: expect.stringContaining('cascade: it holds nothing worth keeping'),
    })
    await queue.close()
    await onServer(url, `update ${schema}.version set version = 4000`)
    await expect(queueOf(warehouse)).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining('has tables of version 4000; expected tables of pg-boss, version'),
      hint: expect.stringContaining(`drop schema ${schema} cascade`),
    })
  })

  it('that the role may not make is refused with the statement, which then is enough', async () => {
    const role = `r_${randomBytes(4).toString('hex')}`
    await onServer(url, `create role ${role} login`, `revoke create on database ${name} from public`)
    const address = new URL(url)
    address.username = role
    const warehouse = await warehouseIn(undefined, address.href)
    const statement = `create schema s${schemas}_queue authorization ${role}`
    const hint = expect.stringContaining(statement)
    expect(await deliveriesOf(warehouse).obstacle()).toMatchObject({ hint })
    await expect(queueOf(warehouse)).rejects.toMatchObject({ exitCode: 3, hint })
    await onServer(url, statement)
    expect(await deliveriesOf(warehouse).obstacle()).toBeUndefined()
    expect(await (await queueOf(warehouse)).send(round('a', 1))).toBe(1)
  })

  it('needs a name that fits, and is none of a file', async () => {
    const long = 'l'.repeat(45)
    await expect(queueOf(await warehouseIn(long))).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(`found "${long}", expected at most 44 characters`),
    })
    expect(await deliveriesOf(await warehouseIn(long)).seen()).toBeUndefined()
    await expect(
      queueOf(await warehouseIn('main', `sqlite:${scratch()}/warehouse.db`)),
    ).rejects.toMatchObject({
      exitCode: 2,
      hint: expect.stringContaining('shopsync schedule here'),
    })
  })
})
