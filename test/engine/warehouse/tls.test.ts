/** Encrypted connections to a real Postgres: what each sslmode requires of the certificate, and what is reported. */
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { wordsOf } from '../../../src/engine/base/errors.js'
import { warehouseProblem } from '../../../src/engine/config/address.js'
import { startPostgres, type TestPostgres } from '../../support/harness/postgres.js'
import { known } from '../../support/harness/runs.js'
import { openWarehouse, plannedChanges } from '../../support/harness/warehouse.js'

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const ca = `sslrootcert=${fixture('ca.pem')}`
const otherCa = `sslrootcert=${fixture('other-ca.pem')}`

/** The result of a connection with that address: a text that says yes, or the error's message. */
async function open(url: string): Promise<string> {
  const warehouse = await openWarehouse({ url, schema: 'tls', model: known }).catch((error: unknown) => error)
  if (warehouse instanceof Error) return said(warehouse)
  try {
    await plannedChanges(warehouse as Awaited<ReturnType<typeof openWarehouse>>)
    return 'connected'
  } catch (error) {
    return said(error)
  } finally {
    await (warehouse as Awaited<ReturnType<typeof openWarehouse>>).close()
  }
}

const said = (error: unknown): string => {
  const { message, hint } = wordsOf(error)
  return `${message} → ${hint}`
}

describe('a Postgres that only accepts encrypted connections', () => {
  let server: TestPostgres
  const address = (host: string, parameters: string): string =>
    `postgres://postgres@${host}:${server.port}/postgres?${parameters}`

  beforeAll(async () => {
    server = await startPostgres({ tls: { cert: fixture('server.pem'), key: fixture('server.key') } })
    const admin = new pg.Client({
      host: server.data,
      port: server.port,
      user: 'postgres',
      database: 'postgres',
    })
    await admin.connect()
    await admin.query(
      "create role bound superuser login password 'pw'; create role plain superuser login password 'pw'",
    )
    await admin.end()
  })
  afterAll(() => server.stop())

  // The certificate is for "localhost", signed by the authority in ca.pem.
  test.each<[host: string, parameters: string, outcome: RegExp]>([
    ['localhost', 'sslmode=require', /^connected/],
    ['127.0.0.1', 'sslmode=require', /^connected/],
    ['127.0.0.1', `sslmode=require&${ca}`, /^connected/],
    ['localhost', `sslmode=require&${otherCa}`, /over TLS.*→.*sslrootcert/],
    ['127.0.0.1', `sslmode=verify-ca&${ca}`, /^connected/],
    ['localhost', `sslmode=verify-ca&${otherCa}`, /over TLS.*authority.*→ (?!.*leave).*sslrootcert/],
    ['localhost', `sslmode=verify-full&${ca}`, /^connected/],
    ['localhost', ca, /^connected/],
    // What the message advises is never to check less than the name.
    [
      '127.0.0.1',
      `sslmode=verify-full&${ca}`,
      /127\.0\.0\.1.* over TLS.*it is for localhost \(.*→ (?!.*leave).*verify-ca/,
    ],
    ['localhost', 'sslmode=verify-full', /over TLS.*→.*sslrootcert/],
    ['localhost', 'sslmode=verify-full&sslrootcert=system', /over TLS.*→.*sslrootcert/],
    ['localhost', 'sslmode=disable', /accepts only encrypted connections.*→.*sslmode=verify-full/],
    ['localhost', 'sslmode=verify-full&sslrootcert=/not/there.pem', /\/not\/there\.pem.*ENOENT.*→/],
  ])('%s?%s', async (host, parameters, outcome) => {
    expect(await open(address(host, parameters))).toMatch(outcome)
  })

  // What Neon prints.
  test.each<[user: string, parameters: string, outcome: RegExp]>([
    ['bound:pw', 'sslmode=require&channel_binding=require', /^connected/],
    ['bound:pw', 'sslmode=require&channel_binding=prefer', /^connected/],
    ['bound:pw', 'sslmode=require&channel_binding=disable', /^connected/],
    ['bound:no', 'sslmode=require&channel_binding=require', /password/],
    ['plain:pw', 'sslmode=require&channel_binding=prefer', /^connected/],
    ['plain:pw', 'sslmode=require&channel_binding=require', /did not offer.*→.*channel_binding=prefer/],
    ['postgres', 'sslmode=require&channel_binding=require', /did not offer.*→.*sslmode=verify-full/],
  ])('%s, %s', async (user, parameters, outcome) => {
    expect(await open(`postgres://${user}@localhost:${server.port}/postgres?${parameters}`)).toMatch(outcome)
  })

  test('without TLS settings the server refuses, and the message tells you what to type', async () => {
    expect(await open(`postgres://postgres@localhost:${server.port}/postgres`)).toMatch(
      /only encrypted connections.*→.*\?sslmode=verify-full/,
    )
  })

  test.each([
    ['require', /^connected/],
    ['verify-full', /over TLS.*→.*PGSSLMODE=verify-full in the environment/],
    ['prefer', /PGSSLMODE=prefer.*→.*PGSSLMODE=verify-full/],
  ])('without them, PGSSLMODE=%s counts as in libpq', async (mode, outcome) => {
    process.env.PGSSLMODE = mode
    try {
      expect(await open(`postgres://postgres@127.0.0.1:${server.port}/postgres`)).toMatch(outcome)
      expect(await open(address('localhost', `sslmode=verify-full&${ca}`))).toBe('connected')
    } finally {
      delete process.env.PGSSLMODE
    }
  })

  test('a local socket needs none, in each of its spellings', async () => {
    const folder = encodeURIComponent(server.data)
    for (const url of [
      `postgres://postgres@${folder}:${server.port}/postgres`,
      `postgres:///postgres?host=${folder}&port=${server.port}&user=postgres`,
    ])
      expect(await open(url), url).toBe('connected')
  })
})

test.each([
  ['sslmode=prefer', /sslmode=prefer/],
  ['sslmode=Verify-Full', /sslmode=Verify-Full/],
  ['sslmode=verify-ca', /without sslrootcert/],
])('an address with %s is rejected before any connection', (parameters, found) => {
  expect(warehouseProblem(`postgres://me:hidden@host/db?${parameters}`)?.found).toMatch(found)
  expect(JSON.stringify(warehouseProblem(`postgres://me:hidden@host/db?${parameters}`))).not.toContain(
    'hidden',
  )
})
