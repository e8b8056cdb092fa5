/** The queue of deliveries: what a round sends, who gets it, and what becomes of it when a worker or the queue is gone. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { describeError } from '../../../src/engine/base/errors.js'
import { postgresOfRun } from '../../support/harness/clones.js'
import { databaseAt, onServer } from '../../support/harness/databases.js'
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

async function ask<T extends object>(text: string, ...values: unknown[]): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(text, values)).rows
  } finally {
    await client.end()
  }
}

const round = (plannedAt: string, shards: number, job = 'hourly'): Round => ({ job, plannedAt, shards })

async function taken(queue: Deliveries): Promise<Taken> {
  const found = await queue.take('here')
  if (!found) throw new Error('Nothing waits')
  return found
}

const seen = async (warehouse: Warehouse) =>
  ((await deliveriesOf(warehouse).seen())?.deliveries ?? []).map(({ part, status }) => `${part} ${status}`)

/** As if its worker had been silent for so long. */
const silence = (schema: string, part: string, interval: string) =>
  ask(
    `update ${schema}_queue.job set heartbeat_on = now() - interval '${interval}' where data ->> 'part' = $1`,
    part,
  )

describe('a round', () => {
  it('is sent once, and the next begins when nothing of it waits or is under way', async () => {
    const queue = await queueOf(await warehouseIn())
    expect(await queue.send(round('a', 2))).toBe(2)
    expect(await queue.send(round('a', 2))).toBe(0)
    expect(await queue.send(round('b', 2))).toBeUndefined()
    expect(await queue.send(round('b', 3, 'nightly'))).toBe(3)
  })

  it('ends with one delivery for the whole warehouse, which its last shard sends', async () => {
    const warehouse = await warehouseIn()
    const queue = await queueOf(warehouse)
    await queue.send(round('a', 2))
    const [first, second] = [await taken(queue), await taken(queue)]
    expect([first, second].map(({ shard }) => partName(shard)).sort()).toEqual(['0/2', '1/2'])
    expect(await queue.take('here')).toBeUndefined()
    await Promise.all([first.done(), second.done()])
    const whole = await taken(queue)
    expect(whole.shard).toBeUndefined()
    expect(await queue.take('here')).toBeUndefined()
    await whole.done()
    expect(await seen(warehouse)).toEqual(['0/2 done', '1/2 done', 'whole done'])
    expect(await queue.send(round('b', 2))).toBe(2)
  })

  it('of one warehouse is none of another in the same database', async () => {
    const [one, other] = [await queueOf(await warehouseIn()), await queueOf(await warehouseIn())]
    await one.send(round('a', 1))
    expect(await other.take('here')).toBeUndefined()
    expect((await taken(one)).round.plannedAt).toBe('a')
  })
})

describe('a delivery', () => {
  it('that was cut short comes back behind the others, one that failed after a while', async () => {
    const warehouse = await warehouseIn()
    const queue = await queueOf(warehouse)
    await queue.send(round('a', 3))
    const first = await taken(queue)
    await first.again('now')
    const failed = await taken(queue)
    await failed.again('later')
    const rest = [await taken(queue), await taken(queue)].map(({ shard }) => partName(shard))
    expect(rest.at(-1)).toBe(partName(first.shard))
    expect(rest).not.toContain(partName(failed.shard))
    expect(await queue.take('here')).toBeUndefined()
    const [{ left = 0 } = {}] = await ask<{ left: number }>(
      `select extract(epoch from start_after - now())::float8 as left from ${warehouseSchema(warehouse)}_queue.job where data ->> 'part' = $1`,
      partName(failed.shard),
    )
    expect(left).toBeGreaterThan(10)
    expect(left).toBeLessThanOrEqual(15)
  })

  it('is due later and later while its runs end by an error of ours', async () => {
    const warehouse = await warehouseIn()
    const queue = await queueOf(warehouse)
    await queue.send(round('a', 1))
    for (const [deaths, wait] of waitsAfterBug.entries()) {
      const broken = await taken(queue)
      expect(broken.deaths).toBe(deaths)
      await broken.again('broken')
      expect(await queue.take('here')).toBeUndefined()
      const job = `${warehouseSchema(warehouse)}_queue.job`
      const [{ left = 0 } = {}] = await ask<{ left: number }>(
        `update ${job} set start_after = now() where state = 'created' returning extract(epoch from (select start_after from ${job} where state = 'created') - now())::float8 as left`,
      )
      expect(left).toBeGreaterThan(wait - 5)
      expect(left).toBeLessThanOrEqual(wait)
    }
    expect(await taken(queue)).toMatchObject({ deaths: waitsAfterBug.length })
  })

  it('whose worker fell silent goes to another, and what the first one says of it then is not heard', async () => {
    const warehouse = await warehouseIn()
    const schema = warehouseSchema(warehouse)
    const queue = await queueOf(warehouse)
    await queue.send(round('a', 1))
    const before = await taken(queue)
    await silence(schema, '0/1', '20 seconds')
    await expect.poll(() => seen(warehouse), { timeout: 15_000 }).toEqual(['0/1 waiting'])
    await ask(`update ${schema}_queue.job set start_after = now()`)
    const after = await taken(queue)
    expect(after.deaths).toBe(1)
    await before.done()
    await before.again('now')
    expect(await seen(warehouse)).toEqual(['0/1 active'])
    await after.done()
    expect(await seen(warehouse)).toEqual(['0/1 done', 'whole waiting'])
  })

  it('counts as waiting where no worker is left to put it back', async () => {
    const warehouse = await warehouseIn()
    const queue = await queueOf(warehouse)
    await queue.send(round('a', 1))
    await taken(queue)
    await queue.close()
    await silence(warehouseSchema(warehouse), '0/1', '2 minutes')
    expect(await seen(warehouse)).toEqual(['0/1 waiting'])
    expect((await deliveriesOf(warehouse).seen())?.workers).toBe(0)
  })
})

describe('a queue', () => {
  it('that was dropped is made again, and the round that was under way is complete in the end', async () => {
    const warehouse = await warehouseIn()
    const queue = await queueOf(warehouse)
    await queue.send(round('a', 2))
    const first = await taken(queue)
    await ask(`drop schema ${warehouseSchema(warehouse)}_queue cascade`)
    expect(await queue.take('here')).toBeUndefined()
    await first.touch()
    await first.done()
    // The first shard's, too: the warehouse knows that it has run.
    expect(await seen(warehouse)).toEqual(['0/2 waiting', '1/2 waiting'])
  })

  it('counts the workers that are up, and no other program', async () => {
    const warehouse = await warehouseIn()
    expect(await deliveriesOf(warehouse).seen()).toBeUndefined()
    await queueOf(warehouse, false)
    expect(await deliveriesOf(warehouse).seen()).toEqual({ workers: 0, idle: null, deliveries: [] })
    const one = await queueOf(warehouse)
    await queueOf(warehouse)
    expect((await deliveriesOf(warehouse).seen())?.workers).toBe(2)
    await one.close()
    expect((await deliveriesOf(warehouse).seen())?.workers).toBe(1)
  })

  it('of a newer version is refused with what to type', async () => {
    const warehouse = await warehouseIn()
    const schema = warehouseSchema(warehouse)
    await (await queueOf(warehouse)).close()
    await ask(`update ${schema}_queue.version set version = 4000`)
    await expect(queueOf(warehouse)).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining('has tables of version 4000; expected tables of pg-boss, version'),
      hint: expect.stringContaining(`drop schema ${schema}_queue cascade`),
    })
  })

  it('that several make at the same moment is one, and one that is dropped while it is made is made again', async () => {
    const warehouses = await Promise.all([1, 2, 3, 4].map(() => warehouseIn('together')))
    const queues = await Promise.all(warehouses.map((warehouse) => queueOf(warehouse)))
    const sent = await Promise.all(queues.map((queue) => queue.send(round('2026-01-01T00:00:00.000000Z', 2))))
    expect(sent.toSorted()).toEqual([0, 0, 0, 2])

    for (const waits of [[20], [80], Array<number>(25).fill(0)]) {
      const opening = queueOf(await warehouseIn('together'))
      opening.catch(() => {})
      for (const wait of waits) {
        await sleep(wait)
        await onServer(url, 'drop schema if exists together_queue cascade')
      }
      const queue = await opening
      expect(await queue.send(round('2026-01-01T00:00:00.000000Z', 2))).toBe(2)
    }
  })

  it('whose row somebody holds says who', async () => {
    const warehouse = await warehouseIn()
    const queue = await queueOf(warehouse)
    const holder = new pg.Client({ connectionString: url, application_name: 'somebody' })
    await holder.connect()
    await holder.query(`begin; select name from s${schemas}_queue.queue for update`)
    const error = await refusal(warehouse.trying(() => queue.send(round('2026-01-01T00:00:00.000000Z', 2))))
    expect(describeError(error)).toMatch(/somebody \(pid \d+\) holds a lock on it/)
    await holder.end()
    expect(await queue.send(round('2026-01-01T00:00:00.000000Z', 2))).toBe(2)
  })

  it('that was changed by hand is refused with what to type', async () => {
    const warehouse = await warehouseIn()
    const queue = await queueOf(warehouse)
    await ask(`alter table ${warehouseSchema(warehouse)}_queue.job drop column heartbeat_on`)
    await expect(queue.take('here')).rejects.toMatchObject({
      exitCode: 3,
      hint: expect.stringContaining('cascade: it holds nothing worth keeping'),
    })
  })

  it('that the role may not make is refused with the statement, which then is enough', async () => {
    const role = `r_${randomBytes(4).toString('hex')}`
    await ask(`create role ${role} login`)
    await ask(`revoke create on database ${name} from public`)
    const address = new URL(url)
    address.username = role
    const warehouse = await warehouseIn(undefined, address.href)
    const schema = warehouseSchema(warehouse)
    const statement = `create schema ${schema}_queue authorization ${role}`
    expect((await deliveriesOf(warehouse).obstacle())?.hint).toContain(statement)
    await expect(queueOf(warehouse)).rejects.toMatchObject({
      exitCode: 3,
      hint: expect.stringContaining(statement),
    })
    await ask(statement)
    expect(await deliveriesOf(warehouse).obstacle()).toBeUndefined()
    expect(await (await queueOf(warehouse)).send(round('a', 1))).toBe(1)
  })

  it('needs a name that fits', async () => {
    const long = 'l'.repeat(45)
    await expect(queueOf(await warehouseIn(long))).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(`found "${long}", expected at most 44 characters`),
    })
    expect(await deliveriesOf(await warehouseIn(long)).seen()).toBeUndefined()
  })

  it('is none of a file', async () => {
    const warehouse = await warehouseIn('main', `sqlite:${scratch()}/warehouse.db`)
    await expect(queueOf(warehouse)).rejects.toMatchObject({
      exitCode: 2,
      hint: expect.stringContaining('shopsync schedule here'),
    })
  })
})

/** As `where` shows it. */
const warehouseSchema = ({ where }: Warehouse): string => /\(schema (\w+)\)/.exec(where)?.[1] ?? ''
