/** The queue of deliveries: what a round sends, who gets it, and what becomes of it when a worker or the queue is gone. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { describeError } from '../../../src/engine/base/errors.js'
import { postgresOfRun } from '../../support/harness/clones.js'
import { askServer, databaseAt, onServer } from '../../support/harness/databases.js'
import { startImpatient } from '../../support/harness/relays.js'
import { known } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import { refusal } from '../../support/harness/server.js'
import {
  bothWarehouses,
  type Deliveries,
  openWarehouse,
  partName,
  type Round,
  type Taken,
  type Warehouse,
  waitsAfterBug,
} from '../../support/harness/warehouse.js'
import { Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

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

/** A way to the server on which nothing waits long for a lock. */
async function impatient(): Promise<string> {
  const relay = await startImpatient(url)
  opened.push(relay)
  return relay.url
}

async function queueOf(warehouse: Warehouse, works = true): Promise<Deliveries> {
  const queue = await warehouse.dialect.deliveries.open({ works, trouble: () => {} })
  opened.push(queue)
  return queue
}

const at = '2026-01-01T00:00:00.000000Z'
const round = (plannedAt: string, shards: number, job = 'hourly'): Round => ({ job, plannedAt, shards })

/** A queue of its own, in which a round waits. */
async function begun(shards: number, address = url) {
  const warehouse = await warehouseIn(undefined, address)
  const queue = await queueOf(warehouse)
  await queue.send(round('a', shards))
  const schema = `s${schemas}_queue`
  return {
    queue,
    warehouse,
    schema,
    /** Every delivery, and what has become of it. */
    seen: async () =>
      ((await warehouse.dialect.deliveries.seen())?.deliveries ?? []).map(
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

/** A round, and its deliveries by the name that the story gives them. */
interface Story {
  round: Awaited<ReturnType<typeof begun>>
  readonly named: Map<string, Taken>
}

const words: WordsOf<Story> = {
  'a round of N': async (story, shards) => {
    story.round = await begun(Number(shards))
  },
  'send WORD of N[ WORD]': async ({ round: { queue } }, planned, shards, job) =>
    `sent: ${(await queue.send(round(planned!, Number(shards), job))) ?? 'nothing'}`,
  // Which of its shards comes first is chance.
  'take WORD': async ({ round: { queue }, named }, name) => {
    const taken = await queue.take('here')
    if (!taken) return 'nothing'
    const part = partName(taken.shard)
    const before = [...named].find(([, other]) => partName(other.shard) === part)?.[0]
    named.set(name!, taken)
    return `${before ? `the same as ${before}` : part.replace(/^\d+/, 'one')}, deaths: ${taken.deaths}`
  },
  'another warehouse takes': async () => {
    const other = await queueOf(await warehouseIn())
    return (await other.take('here')) ? 'something' : 'nothing'
  },
  'WORD is done': ({ named }, name) => named.get(name!)!.done(),
  'touch WORD': ({ named }, name) => named.get(name!)!.touch(),
  'WORD again (now|later|broken)': ({ named }, name, why) => named.get(name!)!.again(why as 'now'),
  'silent for N s': ({ round: { silence } }, seconds) => silence('0/1', `${seconds} seconds`),
  'wait until it waits': ({ round: { seen } }) =>
    expect.poll(seen, { timeout: 15_000 }).toEqual(['0/1 waiting']),
  hasten: async ({ round: { hasten } }) => {
    const left = await hasten()
    return `in ${waitsAfterBug.find((wait) => left <= wait && left > wait - 5) ?? left} s`
  },
  seen: async ({ round: { seen } }) => (await seen()).join(', '),
  workers: async ({ round: { warehouse } }) =>
    `${(await warehouse.dialect.deliveries.seen())?.workers} workers`,
  'the worker ends': ({ round: { queue } }) => queue.close(),
  'the queue is dropped': ({ round: { schema } }) => onServer(url, `drop schema ${schema} cascade`),
}

const [postgres] = bothWarehouses().filter(({ name }) => name === 'postgres')
const beginning = () => () => ({ named: new Map() }) as unknown as Story
storyTests('test/engine/warehouse/deliveries.txt', new Steps(words), beginning, [postgres!])

describe('a queue', () => {
  it('counts the workers that are up, and no other program', async () => {
    const warehouse = await warehouseIn()
    const workers = async () => (await warehouse.dialect.deliveries.seen())?.workers
    expect(await workers()).toBeUndefined()
    await queueOf(warehouse, false)
    expect(await warehouse.dialect.deliveries.seen()).toEqual({ workers: 0, idle: null, deliveries: [] })
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
    const { queue, warehouse, schema } = await begun(1, await impatient())
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
    expect(await warehouse.dialect.deliveries.obstacle()).toMatchObject({ hint })
    await expect(queueOf(warehouse)).rejects.toMatchObject({ exitCode: 3, hint })
    await onServer(url, statement)
    expect(await warehouse.dialect.deliveries.obstacle()).toBeUndefined()
    expect(await (await queueOf(warehouse)).send(round('a', 1))).toBe(1)
  })

  it('needs a name that fits, and is none of a file', async () => {
    const long = 'l'.repeat(45)
    await expect(queueOf(await warehouseIn(long))).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(`found "${long}", expected at most 44 characters`),
    })
    expect(await (await warehouseIn(long)).dialect.deliveries.seen()).toBeUndefined()
    await expect(
      queueOf(await warehouseIn('main', `sqlite:${scratch()}/warehouse.db`)),
    ).rejects.toMatchObject({
      exitCode: 2,
      hint: expect.stringContaining('shopsync schedule here'),
    })
  })
})
