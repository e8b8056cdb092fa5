/** Encrypted connections to a real Postgres: what each sslmode requires of the certificate, and what is reported. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { wordsOf } from '../../../src/engine/base/errors.js'
import { warehouseProblem } from '../../../src/engine/config/address.js'
import { onServer } from '../../support/harness/databases.js'
import { startPostgres, type TestPostgres } from '../../support/harness/postgres.js'
import { known } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import { openWarehouse, plannedChanges } from '../../support/harness/warehouse.js'

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const ca = `sslrootcert=${fixture('ca.pem')}`
const otherCa = `sslrootcert=${fixture('other-ca.pem')}`

/** The result of a connection with that address: a text that says yes, or the error's message. */
async function open(url: string): Promise<string> {
  try {
    const warehouse = await openWarehouse({ url, schema: 'tls', model: known })
    await plannedChanges(warehouse).finally(() => warehouse.close())
    return 'connected'
  } catch (error) {
    const { message, hint } = wordsOf(error)
    return `${message} → ${hint}`
  }
}

describe('a Postgres that only accepts encrypted connections', () => {
  let server: TestPostgres
  const address = (who: string, parameters: string): string =>
    `postgres://${who}:${server.port}/postgres${parameters && '?'}${parameters}`

  beforeAll(async () => {
    server = await startPostgres({ tls: { cert: fixture('server.pem'), key: fixture('server.key') } })
    const roles = ['bound', 'plain'].map((name) => `create role ${name} superuser login password 'pw'`)
    const socket = encodeURIComponent(server.data)
    await onServer(`postgres://postgres@${socket}:${server.port}/postgres`, ...roles)
  })
  afterAll(() => server.stop())
  afterEach(() => void vi.unstubAllEnvs())

  // The certificate is for "localhost", signed by the authority in ca.pem. What the message advises is never to check less
  // than the name. Channel binding: what Neon prints.
  const usual = 'postgres@localhost'
  test.each<[who: string, parameters: string, outcome: RegExp]>([
    [usual, 'sslmode=require', /^connected/],
    ['postgres@127.0.0.1', 'sslmode=require', /^connected/],
    ['postgres@127.0.0.1', `sslmode=require&${ca}`, /^connected/],
    [usual, `sslmode=require&${otherCa}`, /over TLS.*→.*sslrootcert/],
    ['postgres@127.0.0.1', `sslmode=verify-ca&${ca}`, /^connected/],
    [usual, `sslmode=verify-ca&${otherCa}`, /over TLS.*authority.*→ (?!.*leave).*sslrootcert/],
    [usual, `sslmode=verify-full&${ca}`, /^connected/],
    [usual, ca, /^connected/],
    [
      'postgres@127.0.0.1',
      `sslmode=verify-full&${ca}`,
      /127\.0\.0\.1.* over TLS.*it is for localhost \(.*→ (?!.*leave).*verify-ca/,
    ],
    [usual, 'sslmode=verify-full', /over TLS.*→.*sslrootcert/],
    [usual, 'sslmode=verify-full&sslrootcert=system', /over TLS.*→.*sslrootcert/],
    [usual, 'sslmode=disable', /accepts only encrypted connections.*→.*sslmode=verify-full/],
    [usual, 'sslmode=verify-full&sslrootcert=/not/there.pem', /\/not\/there\.pem.*ENOENT.*→/],
    [usual, '', /only encrypted connections.*→.*\?sslmode=verify-full/],
    ['bound:pw@localhost', 'sslmode=require&channel_binding=require', /^connected/],
    ['bound:pw@localhost', 'sslmode=require&channel_binding=prefer', /^connected/],
    ['bound:pw@localhost', 'sslmode=require&channel_binding=disable', /^connected/],
    ['bound:no@localhost', 'sslmode=require&channel_binding=require', /password/],
    ['plain:pw@localhost', 'sslmode=require&channel_binding=prefer', /^connected/],
    [
      'plain:pw@localhost',
      'sslmode=require&channel_binding=require',
      /did not offer.*→.*channel_binding=prefer/,
    ],
    [usual, 'sslmode=require&channel_binding=require', /did not offer.*→.*sslmode=verify-full/],
  ])('%s?%s', async (who, parameters, outcome) => {
    expect(await open(address(who, parameters))).toMatch(outcome)
  })

  test.each([
    ['require', /^connected/],
    ['verify-full', /over TLS.*→.*PGSSLMODE=verify-full in the environment/],
    ['prefer', /PGSSLMODE=prefer.*→.*PGSSLMODE=verify-full/],
  ])('without them, PGSSLMODE=%s counts as in libpq', async (mode, outcome) => {
    vi.stubEnv('PGSSLMODE', mode)
    expect(await open(address('postgres@127.0.0.1', ''))).toMatch(outcome)
    expect(await open(address(usual, `sslmode=verify-full&${ca}`))).toBe('connected')
  })

  test.each([
    [
      '#*:*:*:bound:no\nlocalhost:1:*:bound:no\nlocalhost:*:post\\gres:bound:\\pw:\n*:*:*:*:no',
      0o600,
      /^connected/,
    ],
    ['*:*:*:plain:pw', 0o600, /asks for a password/],
    ['*:*:*:bound:pw', 0o640, /→ Type chmod 600/],
  ])('a password is looked up in libpq’s file, without a warning: %j', async (lines, mode, outcome) => {
    vi.stubEnv('PGPASSFILE', join(scratch(), 'passwords'))
    writeFileSync(process.env['PGPASSFILE']!, lines, { mode })
    const warned = vi.spyOn(process, 'emitWarning')
    expect(await open(address('bound@localhost', 'sslmode=require'))).toMatch(outcome)
    expect(warned).not.toHaveBeenCalled()
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
