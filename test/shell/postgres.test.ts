/** A Postgres that several make at once, that refuses, or that is away. */
import { randomBytes } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closedAfterwards } from '../support/harness/afterwards.js'
import { postgresStarted } from '../support/harness/clones.js'
import { databaseAt, onServer } from '../support/harness/databases.js'
import { configure, place } from '../support/harness/place.js'
import { listens } from '../support/harness/relays.js'
import { postgresUrl } from '../support/harness/warehouse.js'

const url = postgresUrl()
const own = `cli_${randomBytes(4).toString('hex')}`
const here = await place()
beforeAll(async () => {
  await postgresStarted()
  await onServer(
    url,
    `create database ${own}`,
    `create role ${own} login`,
    `grant create on database ${own} to ${own}`,
  )
})
afterAll(() => onServer(url, `drop database ${own} with (force)`, `drop role ${own}`))

/** A configuration with this warehouse, in a file of its own. */
const at = (address: string): string =>
  configure(here.sandbox, { url: address, schema: 'shopsync' }, [], { sync: { resources: 'all' } })

test('is made once by several first migrations that meet', async () => {
  const config = at(databaseAt(url, own))
  const ended = await Promise.all([1, 2, 3, 4].map(() => here.run('migrate', '--config', config)))
  // One of them may hold the lease while another asks for it.
  expect(ended.filter(({ code }) => code !== 0 && code !== 4)).toEqual([])
  expect(ended.map(({ code }) => code)).toContain(0)
  expect((await here.run('migrate', '--config', config)).stdout).toContain('up to date')
})

test('a hint names no table that was undone, and what it says to drop ends the error', async () => {
  const database = databaseAt(url, own)
  await onServer(
    database,
    `drop schema if exists shopsync_analytics cascade; drop schema if exists shopsync cascade;
    create function taken() returns event_trigger language plpgsql security definer as $$
      declare made record;
      begin
        for made in select object_identity from pg_event_trigger_ddl_commands() where command_tag = 'CREATE TABLE' loop
          execute format('alter table %s owner to %I', made.object_identity, current_user);
        end loop;
      end $$;
    create event trigger takes on ddl_command_end when tag in ('CREATE TABLE') execute function taken()`,
  )
  const restricted = new URL(database)
  restricted.username = own
  const config = at(restricted.href)
  const refused = await here.run('migrate', '--json', '--config', config)
  expect(refused.code).toBe(3)
  expect(refused.json()).toMatchObject({ error: { hint: expect.stringContaining('drop the event trigger') } })
  await onServer(database, 'drop event trigger takes')
  expect(await here.run('migrate', '--quiet', '--config', config)).toMatchObject({ code: 0 })
})

test('sslmode=require on a server without SSL reports that', async () => {
  const { code, stderr } = await here.run('sync', '--config', at(`${url}?sslmode=require`))
  expect([code, stderr]).toEqual([3, expect.stringMatching(/cannot be reached over TLS.*ssl = on/s)])
})

/** Accepts TLS, and then does something else. */
const afterTls = async (then: (socket: Socket) => void) =>
  closedAfterwards(
    await listens(
      createServer((socket) => {
        socket.once('data', () => {
          socket.write('S')
          socket.once('data', () => then(socket))
        })
      }),
    ),
  )

// All at once: each waits for a server that may come back.
test('that is away, by port, by socket, by route or by TLS: exit 3, said once, and no password in the message', async () => {
  const talks = await afterTls((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const leaves = await afterTls((socket) => void socket.destroy())
  const there = at('sqlite:./there.db')
  expect(await here.run('migrate', '--config', there)).toMatchObject({ code: 0 })
  const server = (at: string): string => `postgres://me:pa55word@${at}`
  const folder = (path: string): string => server(`${encodeURIComponent(path)}:5432/d`)
  const tls = (port: number): string => server(`127.0.0.1:${port}/d?sslmode=require`)
  const refused = server('127.0.0.1:9/nowhere')
  const away: [address: string, found: string][] = [
    [refused, 'ECONNREFUSED'],
    [folder('/nowhere/at/all'), 'ENOENT'],
    [folder(fileURLToPath(import.meta.url)), 'ENOTDIR'],
    [server('224.0.0.1:5432/d'), 'ENETUNREACH'],
    [tls(talks.port), '(EPROTO|ERR_SSL_)'],
    [tls(leaves.port), 'ECONNRESET'],
  ]
  const calls = [
    ...away.map(([address, found]) => ['status', at(address), found]),
    // The other side of a copy has connections of its own.
    ...away.map(([address, found]) => [`copy --to ${address}`, there, found]),
    ...['sync', 'run hourly', 'check', 'migrate'].map((words) => [words, at(refused), 'ECONNREFUSED']),
  ]
  await Promise.all(
    calls.map(async ([words = '', config = '', found = '']) => {
      const { code, stdout, stderr } = await here.run(...words.split(' '), '--config', config)
      const said = stderr.match(/does not answer/g)?.length ?? 0
      expect([words, code, said]).toEqual([words, 3, words === 'check' ? 0 : 1])
      expect(stdout + stderr).not.toContain('pa55word')
      const how = `does not answer: (?!the connection failed)[^(]+ \\(${found}`
      expect(stdout + stderr).toMatch(new RegExp(how))
    }),
  )
})
