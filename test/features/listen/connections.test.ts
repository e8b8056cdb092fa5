/** If someone opens connections to the receiver without the secret, everyone else still reaches it. */
import { createConnection, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Address } from '../../support/harness/place.js'
import { eventBody, rightSecret, syncedTenants, TestReceiver } from '../../support/harness/receiver.js'
import { reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const [kind] = warehouses()
let address: Address
let warehouse: Warehouse
let receiver: TestReceiver
let clients: Client[] = []

beforeEach(async () => {
  address = await kind!.migrated()
  warehouse = await reopen(address)
  receiver = await TestReceiver.open(address, warehouse, { synced: syncedTenants(101) })
})
afterEach(async () => {
  for (const { socket } of clients) socket.destroy()
  clients = []
  await receiver.close()
  await warehouse.close()
})

/** One connection, from an address of its own. */
class Client {
  text = ''
  #heard: () => void = () => {}
  readonly socket: Socket
  readonly ended: Promise<void>

  constructor(from: string) {
    const port = Number(new URL(receiver.origin).port)
    this.socket = createConnection({ port, host: '127.0.0.1', localAddress: from })
    this.socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString()
      this.#heard()
    })
    this.socket.on('error', () => {})
    this.ended = new Promise((resolve) => this.socket.once('close', () => resolve(this.#heard())))
    clients.push(this)
  }

  /** The status of the next answer; undefined if the connection was closed instead. */
  async status(request: string): Promise<number | undefined> {
    this.text = ''
    this.socket.write(request)
    while (!this.text.includes('\r\n\r\n') && !this.socket.closed)
      await new Promise<void>((resolve) => {
        this.#heard = resolve
      })
    const [, status] = /^HTTP\/1\.1 (\d+) /.exec(this.text) ?? []
    return status === undefined ? undefined : Number(status)
  }
}

const health = 'GET /health HTTP/1.1\r\nhost: a\r\n\r\n'
const posted = (secret: string, id = 'e1'): string => {
  const body = eventBody({ id })
  return `POST /webhooks HTTP/1.1\r\nhost: a\r\nx-api-secret: ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

it('answers everyone while one address holds every connection without the secret', async () => {
  const source = new Client('127.0.0.3')
  expect(await source.status(posted(rightSecret))).toBe(200)
  const flood = Array.from({ length: 512 }, () => new Client('127.0.0.2'))
  await Promise.all(flood.map((client) => client.status(posted('wrong'))))
  expect(await new Client('127.0.0.1').status(health)).toBe(200)
  expect(await new Client('127.0.0.4').status(posted(rightSecret, 'e2'))).toBe(200)
  expect(await new Client('127.0.0.2').status(posted(rightSecret, 'e3'))).toBe(200)
  // None of them stays, and none of those that have shown the secret goes.
  await Promise.all(flood.map(({ ended }) => ended))
  expect(await source.status(posted(rightSecret, 'e4'))).toBe(200)
  const ids = new Set((await receiver.rows()).map(({ event_id }) => event_id))
  expect(ids).toEqual(new Set(['e1', 'e2', 'e3', 'e4']))
}, 30_000)

it('takes a crowd of connections of its source', async () => {
  const crowd = Array.from({ length: 400 }, () => new Client('127.0.0.3'))
  const statuses = await Promise.all(crowd.map((client, i) => client.status(posted(rightSecret, `e${i}`))))
  expect(statuses.filter((status) => status === 200)).toHaveLength(400)
}, 30_000)
