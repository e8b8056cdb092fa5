import { randomBytes } from 'node:crypto'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StatusReport } from '../../src/features/health/statusdocument.js'
import { type Place, place } from '../support/harness/place.js'
import { postgresUrl } from '../support/harness/warehouse.js'

const url = postgresUrl()

describe('a Postgres warehouse', () => {
  const name = `cli_${randomBytes(4).toString('hex')}`
  let here: Place
  let owner: pg.Client

  beforeAll(async () => {
    here = await place()
    here.configure({ warehouse: { url, schema: name } })
    owner = new pg.Client({ connectionString: url })
    await owner.connect()
  })
  afterAll(async () => {
    await owner.query(`drop schema if exists ${name} cascade`)
    await owner.query(`drop role if exists ${name}`)
    await owner.end()
    await here.remove()
  })

  test('is made once by several first migrations that meet', async () => {
    const first = `${name}_first`
    here.configure({ warehouse: { url, schema: first } })
    const ended = await Promise.all([1, 2, 3, 4].map(() => here.run('migrate')))
    // One of them may hold the lease while another asks for it.
    expect(ended.filter(({ code }) => code !== 0 && code !== 4)).toEqual([])
    expect(ended.map(({ code }) => code)).toContain(0)
    expect((await here.run('migrate')).stdout).toContain('up to date')
    await owner.query(`drop schema ${first}_analytics cascade; drop schema ${first} cascade`)
    here.configure({ warehouse: { url, schema: name } })
  })

  test('is checked, filled and judged like a file', async () => {
    expect(await here.run('check')).toMatchObject({ code: 0 })
    expect(await here.run('sync', '--quiet')).toEqual(
      expect.objectContaining({ code: 0, stdout: '', stderr: '' }),
    )
    const { code, json, stdout } = await here.run('status', '--json')
    expect(code).toBe(0)
    const [tenant] = here.sandbox.tenantIds
    expect(json<StatusReport>().cursors.find((c) => c.resource === 'customers')).toMatchObject({
      tenant_id: tenant,
      state: 'ok',
      rows: here.sandbox.store.count(Number(tenant), 'customers'),
      watermark: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    })
    const { password } = new URL(url)
    if (password !== '') expect(stdout).not.toContain(`:${password}@`)
  })

  test('a hint names no table that was undone, and what it says to drop ends the error', async () => {
    const other = `undone_${randomBytes(4).toString('hex')}`
    await owner.query(`create database ${other}`)
    await owner.query(`create role ${other} login password 'daily'`)
    await owner.query(`grant create on database ${other} to ${other}`)
    const at = new URL(url)
    at.pathname = `/${other}`
    const admin = new pg.Client({ connectionString: at.href })
    await admin.connect()
    try {
      await admin.query(`
        create function taken() returns event_trigger language plpgsql security definer as $$
          declare made record;
          begin
            for made in select object_identity from pg_event_trigger_ddl_commands() where command_tag = 'CREATE TABLE' loop
              execute format('alter table %s owner to %I', made.object_identity, current_user);
            end loop;
          end $$;
        create event trigger takes on ddl_command_end when tag in ('CREATE TABLE') execute function taken()`)
      const restricted = new URL(at)
      restricted.username = other
      restricted.password = 'daily'
      here.configure({ warehouse: { url: restricted.href } })
      const refused = await here.run('sync', '--json')
      expect(refused.code).toBe(3)
      const { hint } = refused.json<{ error: { hint: string } }>().error
      expect(hint).toContain('drop the event trigger')
      await admin.query('drop event trigger takes')
      expect(await here.run('sync', '--quiet')).toMatchObject({ code: 0 })
    } finally {
      here.configure({ warehouse: { url, schema: name } })
      await admin.end()
      await owner.query(`drop database ${other} with (force)`)
      await owner.query(`drop role ${other}`)
    }
  })

  test('needs no more for daily runs than docs/warehouse.md grants, once its tables exist', async () => {
    await owner.query(`create role ${name} login password 'daily'`)
    await owner.query(`grant usage on schema ${name} to ${name}`)
    await owner.query(`grant select, insert, update, delete on all tables in schema ${name} to ${name}`)
    const restricted = new URL(url)
    restricted.username = name
    restricted.password = 'daily'
    here.configure({ warehouse: { url: restricted.href, schema: name, autoMigrate: false } })
    here.sandbox.work(10)
    expect(await here.run('sync')).toMatchObject({ code: 0 })
    expect(await here.run('status')).toMatchObject({ code: 0 })
  })

  test('that is not there: exit 3, said once, and no password in the message', async () => {
    here.configure({ warehouse: { url: 'postgres://me:pa55word@127.0.0.1:9/nowhere' } })
    for (const command of ['sync', 'run hourly', 'status', 'check', 'migrate']) {
      const { code, stdout, stderr } = await here.run(...command.split(' '))
      expect([command, code]).toEqual([command, 3])
      expect(stdout + stderr).not.toContain('pa55word')
      expect(stderr.match(/does not answer/g) ?? []).toHaveLength(command === 'check' ? 0 : 1)
    }
  })

  /** Accepts TLS, and then does something else. */
  const afterTls = (then: (socket: Socket) => void): Promise<Server> =>
    new Promise((resolve) => {
      const server = createServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => {
          socket.write('S')
          socket.once('data', () => then(socket))
        })
      })
      server.listen(0, '127.0.0.1', () => resolve(server))
    })

  test('that is away by socket, by route or by TLS is away like any other', async () => {
    const talks = await afterTls((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const leaves = await afterTls((socket) => void socket.destroy())
    const there = { warehouse: { url: `sqlite:${join(here.folder, 'there.db')}` } }
    here.configure(there)
    expect(await here.run('migrate')).toMatchObject({ code: 0 })
    const folder = (path: string): string => `postgres://me@${encodeURIComponent(path)}:5432/d`
    const tls = (server: Server): string =>
      `postgres://me@127.0.0.1:${(server.address() as AddressInfo).port}/d?sslmode=require`
    for (const [address, code] of [
      [folder('/nowhere/at/all'), 'ENOENT'],
      [folder(fileURLToPath(import.meta.url)), 'ENOTDIR'],
      ['postgres://me@224.0.0.1:5432/d', 'ENETUNREACH'],
      [tls(talks), '(EPROTO|ERR_SSL_)'],
      [tls(leaves), 'ECONNRESET'],
    ]) {
      here.configure({ warehouse: { url: address } })
      const { code: exit, stderr } = await here.run('status')
      expect([address, exit, stderr]).toEqual([
        address,
        3,
        expect.stringMatching(new RegExp(`does not answer: (?!the connection failed)[^(]+ \\(${code}`)),
      ])
      // The other side of a copy has connections of its own.
      here.configure(there)
      const copied = await here.run('copy', '--to', String(address))
      expect([address, copied.code, copied.stderr]).toEqual([
        address,
        3,
        expect.stringMatching(new RegExp(`\\(${code}`)),
      ])
    }
    talks.close()
    leaves.close()
  })
})
