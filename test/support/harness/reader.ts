/** A reader of a synced warehouse on Postgres: its role, and connections of it and of the owner. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { type Ended, shopsync } from './call.js'
import { type Address, configure } from './place.js'
import type { Kind } from './warehouse.js'

export class Reader {
  /** For names that no other test has. */
  readonly tag = randomBytes(4).toString('hex')
  /** With capitals, quotes and a space. */
  readonly role = `Reader "${this.tag}"`
  readonly name = pg.escapeIdentifier(this.role)

  private constructor(
    readonly address: Address,
    readonly config: string,
    readonly owner: pg.Client,
  ) {}

  reader!: pg.Client

  /** Of a warehouse that holds these resources of the sandbox's tenants; granted the first one. */
  static async start(sandbox: Sandbox, kind: Kind, resources: readonly string[]): Promise<Reader> {
    const address = await kind.viewed()
    const config = configure(sandbox, address, [...resources])
    const synced = await shopsync(['sync', '--config', config])
    expect(synced.code, synced.stderr).toBe(0)
    const owner = new pg.Client(address.url)
    await owner.connect()
    const made = new Reader(address, config, owner)
    await owner.query(`create role ${made.name} login password 'reader'`)
    const granted = await made.grant(made.role, [sandbox.tenantIds[0] ?? 0])
    expect(granted.code, granted.stderr).toBe(0)
    made.reader = await made.connect()
    return made
  }

  async connect(): Promise<pg.Client> {
    const { hostname, port, pathname } = new URL(this.address.url)
    const client = new pg.Client({
      host: hostname,
      port: Number(port),
      database: pathname.slice(1),
      user: this.role,
      password: 'reader',
    })
    await client.connect()
    return client
  }

  run(...words: readonly string[]): Promise<Ended> {
    return shopsync([...words, '--config', this.config])
  }

  /** A command that has to succeed. */
  async done(...words: readonly string[]): Promise<Ended> {
    const ended = await this.run(...words)
    expect([words, ended.code, ended.stderr]).toEqual([words, 0, expect.anything()])
    return ended
  }

  grant(to: string, tenants: readonly number[], ...flags: readonly string[]): Promise<Ended> {
    return this.run('grant', '--role', to, ...tenants.flatMap((id) => ['--tenant', String(id)]), ...flags)
  }

  /** The tenants whose rows a view shows, to its reader or to another session. */
  async tenantsIn(what: string, client = this.reader): Promise<number[]> {
    const rows = await rowsOf<{ t: number }>(
      client,
      `select distinct tenant_id::int as t from ${what} order by 1`,
    )
    return rows.map(({ t }) => t)
  }

  async stop(): Promise<void> {
    await this.reader.end()
    await this.run('revoke', '--role', this.role)
    await this.owner.query(`drop owned by ${this.name}; drop role ${this.name}`)
    await this.owner.end()
  }
}

export const rowsOf = async <T = unknown>(client: pg.Client, query: string): Promise<T[]> =>
  (await client.query(query)).rows as T[]
