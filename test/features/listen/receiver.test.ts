/** What the receiver answers, and what it stores first; and that nobody who lacks the secret keeps it from others. */
import { rmSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import { sql } from 'kysely'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import type { Address } from '../../support/harness/place.js'
import {
  digest,
  eventBody,
  rightSecret,
  syncedTenants,
  TestReceiver,
} from '../../support/harness/receiver.js'
import { until } from '../../support/harness/scheduler.js'
import { isWhole } from '../../support/harness/size.js'
import { reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

describe.each(warehouses())('on $name', (kind) => {
  let address: Address
  let warehouse: Warehouse
  let receiver: TestReceiver

  const open = async (): Promise<void> => {
    address = await kind.migrated()
    warehouse = await reopen(address)
    receiver = await TestReceiver.open(address, warehouse)
  }
  const close = (): void => {
    for (const { socket } of clients.splice(0)) socket.destroy()
  }

  /** The status of an event that is sent now. */
  const sent = (id: string) => async (): Promise<number> => (await receiver.send(eventBody({ id }))).status

  describe('one that serves several tests, without their events,', () => {
    const from = (address: string): Client => new Client(receiver, address)
    let slow: Client
    let source: Client
    let flood: readonly Client[] = []
    beforeAll(async () => {
      await open()
      slow = new Client(receiver)
      source = from('127.0.0.3')
      void slow.write('POST /webhooks HTTP/1.1\r\nhost: a')
      return close
    })
    afterEach(async () => {
      const { inbox } = receiver
      await inbox.write([inbox.db.deleteFrom('sync_events').compile()])
    })

    it('answers everyone while one address holds every connection without the secret', async () => {
      expect(await source.status(posted(rightSecret))).toBe(200)
      flood = Array.from({ length: 512 }, () => from('127.0.0.2'))
      await Promise.all(flood.map((client) => client.status(posted('wrong'))))
      expect(await from('127.0.0.1').status('GET /health HTTP/1.1\r\nhost: a\r\n\r\n')).toBe(200)
      expect(await from('127.0.0.4').status(posted(rightSecret, 'e2'))).toBe(200)
      expect(await from('127.0.0.2').status(posted(rightSecret, 'e3'))).toBe(200)
      const ids = new Set((await receiver.rows()).map(({ event_id }) => event_id))
      expect(ids).toEqual(new Set(['e1', 'e2', 'e3']))
    })

    it('answers when the event is stored, with the cursors that it makes due', async () => {
      const data = { id: 1, updated_at: '2026-01-31T09:59:59.5Z' }
      const { status, text } = await receiver.send(eventBody({ data }))
      expect([status, text]).toEqual([200, '{"stored":true}'])
      const [own, also] = (await receiver.rows()).toSorted((a, b) => (a.resource < b.resource ? 1 : -1))
      expect(own).toMatchObject({
        tenant_id: 101,
        event_id: 'e1',
        resource: 'repair_orders',
        type: 'RepairOrder',
        action: 'updated',
        record_id: 1,
        version: '2026-01-31T09:59:59.500000Z',
        state: 'waiting',
        triggered_at: '2026-01-31T10:00:00.000000Z',
        deliveries: 1,
        tries: null,
      })
      expect(also).toMatchObject({ resource: 'payments', state: 'waiting' })
      expect(JSON.stringify(await receiver.rows())).not.toContain('"data"')
    })

    it("answers 200 to what isn't synced, and keeps nothing secret of it", async () => {
      const asks = receiver.unknownTenants + 1
      await receiver.send(eventBody({ id: 'stranger', tenant: 700 }))
      // What the receiver's thread says of earlier events comes before this, and may come after their answers.
      await until(() => receiver.unknownTenants === asks)
      const before = receiver.received
      const asked = [
        [eventBody({ id: 'kind', type: 'Note', event: 'note.created' }), true],
        [eventBody({ id: 'action', event: 'repair_order.merged' }), true],
        [eventBody({ id: 'list', type: 'Vehicle', event: 'vehicle.updated' }), true],
        [eventBody({ id: 'tenant', tenant: 500 }), true],
        [eventBody({ id: 'stranger 2', tenant: 701 }), false],
        [eventBody({ id: 'forgotten', tenant: 600 }), false],
      ] as const
      for (const [body, stored] of asked)
        expect((await receiver.send(body)).text).toBe(JSON.stringify({ stored }))
      const states = (await receiver.rows()).map(({ event_id, state, reason }) => [event_id, state, reason])
      expect(states).toEqual([
        ['action', 'unknown', null],
        ['kind', 'unknown', null],
        ['list', 'ignored', 'resource_not_synced'],
        ['tenant', 'ignored', 'tenant_not_synced'],
      ])
      await receiver.send(eventBody())
      await until(() => receiver.received > before)
      // Asked once in ten minutes, and never for a forgotten tenant.
      expect([receiver.unknownTenants, receiver.received]).toEqual([asks, before + 1])
    })

    it('learns what is synced while it runs', async () => {
      receiver.running.tell(syncedTenants(101, 700))
      expect((await receiver.send(eventBody({ tenant: 700 }))).text).toBe('{"stored":true}')
    })

    it.each<
      [what: string, status: number, body: string | Buffer, headers?: Record<string, string>, says?: string]
    >([
      ['with a wrong secret', 401, eventBody(), { 'x-api-secret': 'wrong' }, ''],
      ['that is packed', 415, eventBody(), { 'content-encoding': 'gzip' }],
      ['that is empty', 400, ''],
      ['that is no JSON', 400, '{'],
      ['that is no object', 400, '[]'],
      ['that is no UTF-8', 400, Buffer.from([0x7b, 0xff, 0x7d])],
      ['without an id', 400, '{"id": 7}', {}, 'Found no text "id"\n'],
      [
        'of no record',
        400,
        '{"id":"a","payload":{"id":1.5,"tenant_id":1}}',
        {},
        'Found no integer "payload.id"\n',
      ],
      [
        'of no tenant',
        400,
        '{"id":"a","payload":{"id":1,"tenant_id":"1"}}',
        {},
        'Found no integer "payload.tenant_id"\n',
      ],
    ])('refuses one %s with %i', async (_, status, body, headers = {}, says = expect.any(String)) => {
      expect(await receiver.send(body, headers)).toMatchObject({ status, text: says })
      expect(await receiver.rows()).toEqual([])
    })

    it('refuses other paths and methods, and what is too large before it comes; and is healthy', async () => {
      expect(await receiver.ask('/other')).toMatchObject({ status: 404, text: 'Expected POST /webhooks\n' })
      const { status, headers } = await receiver.ask('/webhooks')
      expect([status, headers['x-shopsync'], headers.allow]).toEqual([405, 'listening', 'POST'])
      expect(await new Client(receiver).answer(headOf(4 * 1024 * 1024 + 1))).toContain(' 413 ')
      expect((await receiver.ask('/health')).status).toBe(200)
    })

    it('accepts any ids: long, strange, beyond 2^53', async () => {
      const long = 'x'.repeat(201)
      for (const id of [long, 'a\0b', '\ud800', 'plain']) await receiver.send(eventBody({ id }))
      await receiver.send(eventBody({ id: 'big' }).replace('"id":1,', '"id":9223372036854775807,'))
      const rows = (await receiver.rows()).filter(({ resource }) => resource === 'repair_orders')
      const hashed = rows.filter(({ event_id }) => /^[0-9a-f]{64}$/.test(event_id))
      expect([rows.length, hashed.length]).toEqual([5, 3])
      expect(rows.find(({ event_id }) => event_id === 'big')?.record_id).toBe(9223372036854775807n)
    })

    it('an id that was used for another record or action is another event', async () => {
      const same = { id: 'again', type: 'RepairOrder' }
      await receiver.send(eventBody(same))
      await Promise.all([
        receiver.send(eventBody({ ...same, record: 2 })),
        receiver.send(eventBody({ ...same, event: 'repair_order.deleted' })),
        receiver.send(eventBody({ ...same, record: 2 })),
      ])
      await receiver.send(eventBody(same))
      const rows = (await receiver.rows()).filter(({ resource }) => resource === 'repair_orders')
      expect(
        rows
          .map(({ action, record_id, deliveries, state }) => [action, record_id, Number(deliveries), state])
          .sort(),
      ).toEqual([
        ['deleted', 1, 1, 'waiting'],
        ['updated', 1, 2, 'waiting'],
        ['updated', 2, 2, 'waiting'],
      ])
    })

    it('accepts both secrets while one replaces the other', async () => {
      const other = await TestReceiver.open(address, warehouse, {
        secretDigests: [digest('new'), digest('old')],
      })
      const statuses = ['new', 'old', rightSecret].map(
        async (secret) => (await other.send(eventBody(), { 'x-api-secret': secret })).status,
      )
      expect(await Promise.all(statuses)).toEqual([200, 200, 401])
    })

    it('runs next to another one, but not on its port', async () => {
      const other = await TestReceiver.open(address, warehouse)
      await Promise.all([receiver.send(eventBody()), other.send(eventBody())])
      expect((await receiver.rows()).map(({ deliveries }) => deliveries)).toEqual([2, 2])
      await other.close()
      const port = Number(new URL(receiver.origin).port)
      const taken = await TestReceiver.open(address, warehouse, { port }).catch((error: unknown) => error)
      expect(taken).toBeInstanceOf(Stop)
      expect(taken).toMatchObject({
        exitCode: 3,
        message: expect.stringContaining('in use by another program'),
      })
    })

    it('gives signs of life, and records its end', async () => {
      const other = await TestReceiver.open(address, warehouse)
      const own = async () => (await receiver.listeners()).find((one) => one.address === other.running.url)
      const source = 'http://127.0.0.1:1 42'
      expect(await own()).toMatchObject({ source, ended_at: null, trouble: null })
      await other.close()
      expect((await own())?.ended_at).not.toBeNull()
    })

    it('reports that the lists which events make due cannot be read', async () => {
      receiver.running.turnsFail(true)
      const troubled = async (): Promise<unknown> => JSON.parse((await receiver.ask('/ready')).text)
      expect(await troubled()).toEqual({ ready: true, trouble: 'turns' })
      const own = (await receiver.listeners()).find(({ address: at }) => at === receiver.running.url)
      expect(own).toMatchObject({ trouble: 'turns' })
      receiver.running.turnsFail(false)
      expect((await receiver.send(eventBody())).status).toBe(200)
    })

    it('holds 64 MB of bodies at once, and tells others to come back', async () => {
      const bytes = 4 * 1024 * 1024
      const held = Array.from({ length: 16 }, () => new Client(receiver))
      await Promise.all(held.map((client) => client.write(`${headOf(bytes)}{`)))
      await receiver.ask('/health')
      expect(await new Client(receiver).answer(headOf(bytes))).toMatch(
        /^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n/,
      )
      for (const { socket } of held) socket.destroy()
      await expect.poll(sent('e1'), { timeout: 30_000 }).toBe(200)
    })

    it("refuses while the inbox can't be written, and accepts events again afterwards", async () => {
      await receiver.send(eventBody())
      const release = await lockInbox(warehouse, address.schema)
      const refused = await receiver.send(eventBody({ id: 'e2' }))
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5'])
      // From now on told at once, before the body is read.
      expect((await receiver.send(eventBody({ id: 'e3' }))).status).toBe(503)
      expect((await receiver.ask('/health')).status).toBe(200)
      await release()
      await expect.poll(sent('e4'), { timeout: 30_000 }).toBe(200)
      expect((await receiver.rows()).some(({ event_id }) => event_id === 'e4')).toBe(true)
    }, 60_000)

    it('takes a crowd of connections of its source', async () => {
      const crowd = Array.from({ length: 400 }, () => from('127.0.0.3'))
      const statuses = await Promise.all(
        crowd.map((client, i) => client.status(posted(rightSecret, `e${i}`))),
      )
      expect(statuses.filter((status) => status === 200)).toHaveLength(400)
      for (const { socket } of crowd) socket.destroy()
    })

    // Which takes seconds: other tests ran meanwhile.
    it('closes connections that send no request, or lack the secret, and no other', async () => {
      await Promise.all([slow, ...flood].map(({ ended }) => ended))
      expect(slow.text).toMatch(/^(HTTP\/1\.1 408 |$)/)
      expect(await source.status(posted(rightSecret))).toBe(200)
    }, 30_000)
  })

  describe('one of its own', () => {
    beforeEach(open)
    afterEach(close)

    it('counts an event that comes again, and stores it once', async () => {
      for (let i = 0; i < 3; i++) expect((await receiver.send(eventBody())).status).toBe(200)
      expect(
        (await Promise.all([1, 2, 3].map(() => receiver.send(eventBody())))).map(({ status }) => status),
      ).toEqual([200, 200, 200])
      expect((await receiver.rows()).map(({ deliveries }) => deliveries)).toEqual([6, 6])
      await receiver.ask('/ready')
      expect(await receiver.counted()).toMatchObject({ stored: 1, double: 5 })
    })

    it('refuses any number of wrong secrets with one line in the log, and reports that something is wrong', async () => {
      const wrong = isWhole() ? 10_000 : 500
      let left = wrong
      const worker = async (): Promise<void> => {
        while (left-- > 0)
          expect((await receiver.send(eventBody(), { 'x-api-secret': `guess ${left}` })).status).toBe(401)
      }
      await Promise.all(Array.from({ length: 32 }, worker))
      expect(receiver.log.filter(({ message }) => message.includes('secret'))).toHaveLength(1)
      const ready = await receiver.ask('/ready')
      expect([ready.status, ready.text]).toEqual([200, '{"ready":true,"trouble":"wrong_secret"}'])
      expect((await receiver.listeners()).map(({ trouble }) => trouble)).toEqual(['wrong_secret'])
      expect(await receiver.counted()).toMatchObject({ unauthorized: wrong })
      expect((await receiver.send(eventBody())).status).toBe(200)
      expect(JSON.parse((await receiver.ask('/ready')).text)).toMatchObject({ ready: true })
    })

    it.skipIf(kind.name !== 'sqlite')('makes its file again if someone has removed it', async () => {
      const file = `${address.url.slice('sqlite:'.length)}.events`
      await receiver.send(eventBody())
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`)
      expect((await receiver.send(eventBody({ id: 'e2' }))).status).toBe(200)
      const other = await TestReceiver.open(address, warehouse)
      expect((await other.rows()).map(({ event_id }) => event_id)).toEqual(['e2', 'e2'])
    })
  })
})

const headOf = (bytes: number, secret = rightSecret): string =>
  `POST /webhooks HTTP/1.1\r\nhost: a\r\nx-api-secret: ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`

const posted = (secret: string, id = 'e1'): string => {
  const body = eventBody({ id })
  return headOf(body.length, secret) + body
}

/** Of the present test. */
const clients: Client[] = []

/** One connection, from an address of its own. */
class Client {
  text = ''
  #heard: () => void = () => {}
  readonly socket: Socket
  readonly ended: Promise<void>

  constructor({ origin }: TestReceiver, localAddress = '127.0.0.1') {
    this.socket = createConnection({ port: Number(new URL(origin).port), host: '127.0.0.1', localAddress })
    this.socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString()
      this.#heard()
    })
    this.socket.on('error', () => {})
    this.ended = new Promise((resolve) => this.socket.once('close', () => resolve(this.#heard())))
    clients.push(this)
  }

  write(text: string): Promise<void> {
    return new Promise((resolve) => this.socket.write(text, () => resolve()))
  }

  /** The head of the next answer; less if the connection was closed instead. */
  async answer(request: string): Promise<string> {
    this.text = ''
    this.socket.write(request)
    while (!this.text.includes('\r\n\r\n') && !this.socket.closed)
      await new Promise<void>((resolve) => {
        this.#heard = resolve
      })
    return this.text
  }

  async status(request: string): Promise<number | undefined> {
    const [, status] = /^HTTP\/1\.1 (\d+) /.exec(await this.answer(request)) ?? []
    return status === undefined ? undefined : Number(status)
  }
}

/** Holds the inbox, like a program that writes into it for a long time. */
async function lockInbox(warehouse: Warehouse, schema: string): Promise<() => Promise<void>> {
  const dialect = await warehouse.dialect.beside({ name: 'events', table: 'sync_events', creates: false })
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let isHeld = (): void => {}
  const begun = new Promise<void>((resolve) => {
    isHeld = resolve
  })
  const holding = dialect?.transaction(async (session) => {
    // On Postgres, the whole table has to be locked; on SQLite, the transaction holds the file.
    const { db } = dialect
    if (dialect.locksRows) {
      await session.run(
        sql`lock table ${sql.table(`${schema}.sync_events`)} in access exclusive mode`.compile(db),
      )
    }
    isHeld()
    await held
  })
  await begun
  return async () => {
    release()
    await holding
    await dialect?.close()
  }
}
