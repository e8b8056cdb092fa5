// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { toJson } from '../../../src/engine/base/printjson.js'
import type { Config } from '../../../src/engine/config/config.js'
import { load } from '../../../src/engine/config/load.js'
import { checks } from '../../support/harness/checks.js'
import { alertKinds } from '../../support/harness/declared.js'
import { scratch } from '../../support/harness/scratch.js'

const key = Buffer.alloc(32, 7).toString('base64')
const good = {
  api: { baseUrl: 'https://api.example.com/', partnerId: '42', secret: '${SHOPSYNC_API_SECRET}' },
  warehouse: { url: 'sqlite:./warehouse.db' },
}
const environment = { SHOPSYNC_API_SECRET: 'tops3cret' }
let folder: string

beforeEach(() => {
  folder = scratch()
})

const write = (content: unknown, name = 'config.json'): void =>
  writeFileSync(join(folder, name), typeof content === 'string' ? content : toJson(content))
const read = (env: Record<string, string> = environment, file?: string): Config =>
  load({ environment: env, workingDirectory: folder, file, ...checks }).config
const readThis = (content: unknown, env?: Record<string, string>): Config => {
  write(content)
  return read(env)
}

function refused(content: unknown, env?: Record<string, string>): Stop {
  try {
    readThis(content, env)
  } catch (error) {
    expect(error).toBeInstanceOf(Stop)
    const stop = error as Stop
    expect(stop.exitCode).toBe(2)
    expect(stop.message).not.toContain('tops3cret')
    return stop
  }
  throw new Error('the configuration was accepted')
}

describe('a configuration', () => {
  test('gets every default', () => {
    const config = readThis(good)
    expect(config.api).toMatchObject({
      baseUrl: 'https://api.example.com',
      partnerId: '42',
      rateReserve: 0,
      allowInsecure: false,
      timeouts: { connect: 10_000, headers: 30_000, body: 60_000, request: 60_000 },
      maxBodyBytes: 67_108_864,
      pageSize: 100,
      gzip: false,
      retry: { attempts: 6, baseMs: 500, maxMs: 30_000 },
    })
    expect(config.sync).toEqual({
      tenants: 'all',
      exceptTenants: [],
      resources: 'all',
      overlap: 300_000,
      concurrency: 8,
    })
    expect(config.warehouse).toMatchObject({
      schema: 'shopsync',
      autoMigrate: true,
      label: `sqlite:${folder}/warehouse.db`,
    })
    expect(config.sections.status).toEqual({ staleAfter: 93_600_000, deletesUncheckedAfter: 259_200_000 })
    expect(config.resources.vehicles).toEqual({ enabled: true, path: undefined, columns: {}, history: false })
  })

  test('is deeply frozen', () => {
    const config = readThis(good)
    for (const part of [
      config,
      config.api,
      config.api.timeouts,
      config.resources,
      config.resources.vehicles,
    ]) {
      expect(Object.isFrozen(part)).toBe(true)
    }
  })

  test('never prints its secret or the password of the warehouse', () => {
    const config = readThis({ ...good, warehouse: { url: 'postgres://me:pa55word@db.example.com/shop' } })
    const prints = [
      JSON.stringify(config),
      inspect(config, { depth: 9 }),
      `${config.api.secret}`,
      String(config.warehouse.url),
    ]
    for (const print of prints) expect(print).not.toMatch(/tops3cret|pa55word/)
    expect(config.api.secret.reveal()).toBe('tops3cret')
    expect(config.warehouse.label).toBe('postgres://me@db.example.com/shop')
    expect(config.warehouse.url.reveal()).toContain('pa55word')
  })

  test('takes tenant ids beyond 2^53 exactly', () => {
    write(
      '{"api":{"baseUrl":"http://[::1]:1","partnerId":42,"secret":"x"},"warehouse":{"url":"sqlite:w"},"sync":{"tenants":[7,9007199254740993,"9007199254740995"]}}',
    )
    const config = read()
    expect(config.sync.tenants).toEqual([7, 9007199254740993n, 9007199254740995n])
    expect(config.api.partnerId).toBe('42')
  })

  test('takes secrets from files next to it, and fills in environment variables', () => {
    mkdirSync(join(folder, 'secrets'))
    write('from-a-file\n', 'secrets/api')
    const config = readThis(
      {
        api: { ...good.api, baseUrl: 'https://${HOST}.example.com', secret: { file: 'secrets/api' } },
        warehouse: { url: 'sqlite:./$${literal}.db' },
      },
      { HOST: 'eu' },
    )
    expect(config.api.secret.reveal()).toBe('from-a-file')
    expect(config.api.baseUrl).toBe('https://eu.example.com')
    expect(config.warehouse.label).toBe(`sqlite:${folder}/\${literal}.db`)
  })

  test('takes no blank and no line break from around an address or a credential', () => {
    const around = (text: string): string => ` \t${text}\r\n`
    const config = readThis(
      {
        api: { baseUrl: '${BASE_URL}', partnerId: '${PARTNER}', secret: around('typed') },
        warehouse: { url: '${DATABASE_URL}' },
      },
      {
        BASE_URL: around('https://api.example.com'),
        PARTNER: around('42'),
        DATABASE_URL: around('postgres://me:pw@db/shop'),
      },
    )
    expect(config.api).toMatchObject({ baseUrl: 'https://api.example.com', partnerId: '42' })
    expect(config.api.secret.reveal()).toBe('typed')
    expect(config.warehouse.url.reveal()).toBe('postgres://me:pw@db/shop')
  })

  test("doesn't expand the values of environment variables again", () => {
    expect(readThis(good, { SHOPSYNC_API_SECRET: 'a${b}c' }).api.secret.reveal()).toBe('a${b}c')
  })

  test('is found by --config, then by SHOPSYNC_CONFIG, then in the working directory', () => {
    const named = (partnerId: string): object => ({ ...good, api: { ...good.api, partnerId } })
    write(named('here'))
    write(named('env'), 'env.json')
    write(named('flag'), 'flag.json')
    expect(read().api.partnerId).toBe('here')
    expect(read({ ...environment, SHOPSYNC_CONFIG: 'env.json' }).api.partnerId).toBe('env')
    expect(
      read({ ...environment, SHOPSYNC_CONFIG: 'env.json' }, join(folder, 'flag.json')).api.partnerId,
    ).toBe('flag')
  })

  test('reports which environment variables it uses', () => {
    write(good)
    expect(load({ environment, workingDirectory: folder, ...checks }).variables).toEqual([
      'SHOPSYNC_API_SECRET',
    ])
  })
})

/** The configuration with other values at some paths, and parts of what is said of it. */
type Case = readonly [changes: Readonly<Record<string, unknown>>, said: string]

function changed(changes: Case[0]): object {
  const document: Record<string, unknown> = structuredClone(good)
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split('.')
    let at = document
    for (const name of names.slice(0, -1)) {
      at[name] ??= {}
      at = at[name] as Record<string, unknown>
    }
    at[names.at(-1)!] = value
  }
  return document
}

describe('the most common mistakes show what was found, what was expected and what to type', () => {
  const cases: readonly Case[] = [
    [{ 'api.secret': '${NOT_THERE}' }, 'api.secret … NOT_THERE is not set … export NOT_THERE='],
    [{ 'api.basUrl': 'x' }, 'api.basUrl … unknown key "basUrl" … nearest known key is "baseUrl"'],
    [{ rateReserve: 0.5 }, 'rateReserve … It belongs under "api"'],
    [{ zzzzzzzzzzz: 1 }, 'unknown key "zzzzzzzzzzz" … nearest known key is "'],
    [
      { 'api.baseUrl': 'http://api.example.com' },
      'found "http://api.example.com", expected https … Type "baseUrl": "https://api.example.com" … "api": {"allowInsecure": true}',
    ],
    [
      { 'api.baseUrl': 'api.example.com' },
      'found "api.example.com" … begins with https:// … Type "baseUrl": "https://api.example.com"',
    ],
    [
      { 'api.baseUrl': 'https://api.example.com/api/v1' },
      'without api/v1 … Type "baseUrl": "https://api.example.com"',
    ],
    [
      { 'api.baseUrl': 'https://api.example.com', 'api.secret': undefined },
      'api.secret: missing; expected the partner secret … Type "secret": "${SHOPSYNC_API_SECRET}"',
    ],
    [
      { 'warehouse.url': 'mysql://root:hunter2@x/y' },
      'begins with "mysql:" … "sqlite:PATH" or "postgres:// … Type "url": "sqlite:./warehouse.db"',
    ],
    [
      { 'sync.overlap': '5 minutes' },
      'sync.overlap: found "5 minutes" … an ISO 8601 duration … Type "overlap": "PT5M"',
    ],
    [
      { 'sync.resources': ['customers', 'vehicle'] },
      'sync.resources[1]: found "vehicle" … the name of a resource … Did you mean "vehicles"?',
    ],
    [{ 'resources.custmers.enabled': false }, 'resources.custmers … nearest known key is "customers"'],
    [{ 'api.rateReserve': 1 }, 'found 1, expected a number from 0 to 0.9'],
    [{ 'sync.tenants': [1.5] }, 'sync.tenants[0]: found 1.5 … the id of a tenant'],
    [
      { 'privacy.customers.email': 'hash' },
      'privacy.key: missing; expected base64 of 32 bytes or more … openssl rand -base64 32',
    ],
    [
      { privacy: { preset: 'pseudonymous', key: 'aHVudGVyMmh1bnRlcjJodQ==' } },
      'privacy.key: found one of 16 bytes, expected base64 of 32 bytes or more',
    ],
    [
      { privacy: { preset: 'pseudonymous', key: 'hunter2 hunter2 hunter2 hunter2 hunter2' } },
      'privacy.key: found a text that is not base64 (not shown)',
    ],
    [
      { privacy: { key, customers: { marketing_ok: 'hash' } } },
      'privacy.customers.marketing_ok: found "hash" … only text can be hashed',
    ],
    [
      { privacy: { key, vehicles: { _extra: 'hash' } } },
      'privacy.vehicles._extra: found "hash" … make the field a column',
    ],
    [
      { 'privacy.preset': 'anonymous' },
      'privacy.preset: found "anonymous", expected one of none, pseudonymous',
    ],
    [{ 'privacy.keyVersion': 0 }, 'privacy.keyVersion: found 0'],
    [
      { 'privacy.customers.emial': 'keep' },
      'privacy.customers.emial: found the unknown key … a column of customers … known key is "email"',
    ],
    [
      { 'privacy.custmers.email': 'keep' },
      'privacy.custmers: found the unknown key … known key is "customers"',
    ],
    [{ privacy: 'keep' }, 'privacy: found "keep", expected an object'],
    [
      { 'privacy.customers': 'keep' },
      'privacy.customers: found "keep", expected an object such as {"email": "keep"}',
    ],
    [{ sync: [] }, 'sync: found [], expected an object'],
    [{ 'api.secret': 987654321 }, 'api.secret'],
    [{ 'api.secret': '${EMPTY}' }, 'EMPTY is empty'],
    [{ 'resources.vehicles.columns.VIN no': 'text' }, 'found the key "VIN no", expected'],
    [
      { 'resources.vehicles.columns.updated_at': 'text' },
      'found the key "updated_at", expected a field that has no column yet',
    ],
    [
      { 'resources.vehicles.columns.updated_at': 'text' },
      'resources.vehicles.columns.updated_at … already exists',
    ],
    [
      { 'resources.customer_payment_types.history': true },
      'resources.customer_payment_types.history: found true … have no versions',
    ],
    [{ 'resources.vehicles.columns.vin': 'string' }, 'found "string", expected one of id, integer'],
    [
      { 'api.secret': '${TWO_LINES}' },
      'api.secret: found the value of ${TWO_LINES} (not shown) … on one line',
    ],
    [
      { 'api.secret': { file: 'no-ascii' } },
      'api.secret: found the text of the file "no-ascii" (not shown) … printable ASCII',
    ],
    [
      { 'api.secret': { file: 'nowhere' } },
      `api.secret.file … ENOENT … starts at the configuration file's folder`,
    ],
    [
      { 'api.timeouts.request': 'P25D' },
      'found "P25D", expected an ISO 8601 duration longer than zero, such as "PT60S", of at most P20D',
    ],
    [
      { 'warehouse.url': 'postgres://db/x', 'warehouse.schema': 'shop', 'report.schema': 'shop' },
      'report.schema: found "shop", expected another schema … for "shop_analytics"',
    ],
    [
      {
        'warehouse.url': 'postgres://db/x',
        'warehouse.schema': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
      },
      'warehouse.schema: found … at most 53 characters … report.schema',
    ],
    ...['id', 'updated_at', 'repair_order_id', '_deleted_at', 'amount_cents'].map((column): Case => {
      const said = `privacy.payments.${column}: found "drop", expected "keep" … it holds rows together`
      return [{ [`privacy.payments.${column}`]: 'drop' }, said]
    }),
    ...['pasted\u00e9', 'two\nlines'].map((secret): Case => {
      const said = 'found a value of type string (not shown) … printable ASCII on one line … Copy it again'
      return [{ 'api.secret': secret }, `api.secret … ${said}`]
    }),
    ...['api.secret', 'warehouse.url', 'alerts.heartbeat', 'privacy.key'].map((path): Case => {
      const said = 'two-lines, expected a file that holds the secret on one line'
      return [{ [path]: { file: 'two-lines' } }, `${path}.file: found a file of 2 lines at … ${said}`]
    }),
    ...['PT0S', 'P0D'].map((request): Case => {
      const said = 'expected an ISO 8601 duration longer than zero, such as "PT60S". Type "request": "PT60S"'
      return [{ 'api.timeouts.request': request }, `api.timeouts.request: found "${request}", ${said}`]
    }),
    ...['connect', 'headers', 'body'].map((name): Case => {
      return [{ [`api.timeouts.${name}`]: 'P25D' }, 'found "P25D" … of at most P20D']
    }),
    ...['pg_shop', 'information_schema', 'x'.repeat(64), 'Shop', '1shop'].flatMap((schema) =>
      ['warehouse.schema', 'report.schema'].map((path): Case => {
        const said = `found "${schema}" … without pg_ at the beginning`
        return [{ 'warehouse.url': 'postgres://db/x', [path]: schema }, said]
      }),
    ),
    ...['xmin', 'CTID', 'tableoid', 'rowid', 'oid'].map((name): Case => {
      const said = `found the key "${name}" … a column ${name} of their own`
      return [{ [`resources.vehicles.columns.${name}`]: 'text' }, said]
    }),
  ]

  test.each(cases)('%j', (changes, said) => {
    write('\nhunter2\nhunter2\n', 'two-lines')
    write('hunter\u00e9', 'no-ascii')
    const env = { ...environment, EMPTY: '', TWO_LINES: 'hunter2\nhunter2' }
    const message = refused(changed(changes), env).message.replaceAll(/ \(line \d+\)/g, '')
    for (const part of said.split(' … ')) expect(message).toContain(part)
    expect(message).toContain('config.example.json')
    expect(message).not.toMatch(/hunter2|987654321|Invalid input|Did you mean "text"/)
  })

  test('SQLite has no schemas that could be the same', () => {
    expect(() =>
      readThis({ ...good, warehouse: { url: 'sqlite:./x.db' }, report: { schema: 'shopsync' } }),
    ).not.toThrow()
  })

  test("takes the key of privacy from a file, and doesn't show it", () => {
    mkdirSync(join(folder, 'keys'))
    write(`${key}\n`, 'keys/privacy')
    const config = readThis({ ...good, privacy: { preset: 'pseudonymous', key: { file: 'keys/privacy' } } })
    expect(config.privacy.key?.reveal()).toBe(key)
    expect(JSON.stringify(config)).not.toContain(key)
  })

  test('accepts privacy of a promoted column', () => {
    const columns = { vehicles: { columns: { vin: 'text' } } }
    expect(() =>
      readThis({ ...good, resources: columns, privacy: { vehicles: { vin: 'keep' } } }),
    ).not.toThrow()
    expect(() =>
      readThis({ ...good, resources: columns, privacy: { key, vehicles: { vin: 'hash', _extra: 'drop' } } }),
    ).not.toThrow()
    expect(refused({ ...good, resources: columns, privacy: { preset: 'pseudonymous' } }).message).toContain(
      'privacy.key: missing',
    )
  })

  test('invalid JSON, with line and column', () => {
    const { message } = refused('{\n  "api": {\n    "baseUrl": "x",\n  }\n}')
    expect(message).toContain('config.json is not valid JSON: line 4, column 3: found a comma before }')
    expect(refused([1]).message).toContain('found [1], expected an object')
    expect(refused('{ // no').message).toContain('line 1, column 3: found a comment')
    expect(refused('').message).toContain('line 1, column 1: found the end of the file')
    expect(refused('{"a":1,"a":2}').message).toContain('line 1, column 8: the key "a" appears twice')
  })

  test('brackets nested deeper than any configuration needs', () => {
    for (const deep of ['['.repeat(100_000), `{"api":${'['.repeat(100_000)}${']'.repeat(100_000)}}`])
      expect(refused(deep).message).toMatch(/line 1, column \d+: found more than 100 nested brackets/)
    const brackets = '['.repeat(1000)
    expect(refused({ ...good, [brackets]: 1 }).message).toContain('unknown key')
  })
})

test('accepts config.example.json as it is', () => {
  const example = readFileSync(new URL('../../../config.example.json', import.meta.url), 'utf8')
  expect(readThis(example).sync.overlap).toBe(300_000)
  // What it shows of alerts is everything, and its secrets are nobody's.
  expect(JSON.parse(example).alerts.rules[0].on).toEqual(alertKinds)
  expect(example).not.toContain('sandbox-secret')
})

describe('values that would break later', () => {
  const refusal = (document: object): string => {
    try {
      readThis(document)
    } catch (error) {
      return String(error)
    }
    return 'nothing'
  }
  const { api } = good

  test.each([
    ['an overlap of 9999 years', { ...good, sync: { overlap: 'P9999Y' } }, /sync\.overlap.*at most P3650D/],
    [
      'a % in a password',
      { api, warehouse: { url: 'postgres://me:50%off@localhost/db' } },
      /warehouse\.url.*a "%" that does not start an escape.*type % as %25/,
    ],
    ['a warehouse in memory', { api, warehouse: { url: 'sqlite::memory:' } }, /an in-memory database/],
    ['the home of somebody', { api, warehouse: { url: 'sqlite:~bob/w.db' } }, /begins with ~/],
    [
      'ID beside id',
      { ...good, resources: { vehicles: { columns: { ID: 'text' } } } },
      /vehicles\.id already exists, and SQLite takes both names for one column/,
    ],
    [
      'vin beside VIN',
      { ...good, resources: { vehicles: { columns: { vin: 'text', VIN: 'text' } } } },
      /vehicles\.vin already exists, and SQLite takes both names for one column/,
    ],
  ])('%s is refused', (_name, document, said) => {
    expect(refusal(document)).toMatch(said)
  })

  test('expands ~/ to the home directory', () => {
    const config = readThis({ ...good, warehouse: { url: 'sqlite:~/w.db' } })
    expect(config.warehouse.url.reveal()).toBe(`sqlite:${homedir()}/w.db`)
    expect(config.warehouse.label).toBe(`sqlite:${homedir()}/w.db`)
  })

  test('accepts a password with its escapes', () => {
    const url = 'postgres://me:50%25off@localhost/db'
    expect(readThis({ ...good, warehouse: { url } }).warehouse.url.reveal()).toBe(url)
  })
})
