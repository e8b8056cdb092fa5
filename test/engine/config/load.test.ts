// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** What a configuration means, and what is refused. How a refusal reads: test/transcripts/config.txt. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { toJson } from '../../../src/engine/base/printjson.js'
import type { Config } from '../../../src/engine/config/config.js'
import { load } from '../../../src/engine/config/load.js'
import { alertKinds, checks } from '../../support/harness/declared.js'
import { scratch } from '../../support/harness/scratch.js'
import { textOf } from '../../support/harness/tree.js'

const key = Buffer.alloc(32, 7).toString('base64')
const environment: Record<string, string> = {
  SHOPSYNC_API_SECRET: 'tops3cret',
  EMPTY: '',
  TWO_LINES: 'hunter2\nhunter2',
}
let folder: string

beforeEach(() => {
  folder = scratch()
})

const write = (content: unknown, name = 'config.json'): void =>
  writeFileSync(join(folder, name), typeof content === 'string' ? content : toJson(content))
const read = (env = environment, file?: string): Config =>
  load({ environment: env, workingDirectory: folder, file, ...checks }).config

/** A sound configuration with other values at some paths. */
function changed(changes: Readonly<Record<string, unknown>>): object {
  const document: Record<string, unknown> = {
    api: { baseUrl: 'https://api.example.com/', partnerId: '42', secret: '${SHOPSYNC_API_SECRET}' },
    warehouse: { url: 'sqlite:./warehouse.db' },
  }
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split('.')
    let at = document
    for (const name of names.slice(0, -1)) {
      at[name] ??= {}
      at = at[name] as Record<string, unknown>
    }
    at[names.at(-1) ?? ''] = value
  }
  return document
}

function readWith(changes: Readonly<Record<string, unknown>>, env = environment): Config {
  write(changed(changes))
  return read(env)
}

function refused(content: unknown): string {
  write(content)
  try {
    read()
  } catch (error) {
    expect(error).toBeInstanceOf(Stop)
    expect(error).toMatchObject({ exitCode: 2 })
    const { message } = error as Stop
    expect(message).not.toMatch(/tops3cret|hunter2|987654321|Invalid input|Did you mean "text"/)
    return message.replaceAll(/ \(line \d+\)/g, '')
  }
  throw new Error('the configuration was accepted')
}

describe('a configuration', () => {
  test('gets every default, and cannot be changed', () => {
    const { api, sync, warehouse, sections, resources } = readWith({})
    expect(api).toMatchObject({
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
    const everything = { tenants: 'all', exceptTenants: [], resources: 'all' }
    expect(sync).toEqual({ ...everything, overlap: 300_000, concurrency: 8 })
    const label = `sqlite:${folder}/warehouse.db`
    expect(warehouse).toMatchObject({ schema: 'shopsync', autoMigrate: true, label })
    expect(sections.status).toEqual({ staleAfter: 93_600_000, deletesUncheckedAfter: 259_200_000 })
    expect(resources.vehicles).toEqual({ enabled: true, path: undefined, columns: {}, history: false })
    for (const part of [api, api.timeouts, resources, resources.vehicles])
      expect(Object.isFrozen(part)).toBe(true)
  })

  test('never prints its secret or the password of the warehouse', () => {
    const config = readWith({ 'warehouse.url': 'postgres://me:pa55word@db.example.com/shop' })
    const { api, warehouse } = config
    const prints = [JSON.stringify(config), inspect(config, { depth: 9 }), `${api.secret}${warehouse.url}`]
    expect(prints.join()).not.toMatch(/tops3cret|pa55word/)
    expect([api.secret.reveal(), warehouse.label]).toEqual(['tops3cret', 'postgres://me@db.example.com/shop'])
    expect(warehouse.url.reveal()).toContain('pa55word')
  })

  test('takes tenant ids beyond 2^53 exactly, and a number as the partner', () => {
    const config = readWith({
      'sync.tenants': [7, 9007199254740993n, '9007199254740995'],
      'api.partnerId': 4,
    })
    expect(config.sync.tenants).toEqual([7, 9007199254740993n, 9007199254740995n])
    expect(config.api.partnerId).toBe('4')
  })

  test('takes secrets from files next to it', () => {
    mkdirSync(join(folder, 'secrets'))
    write('from-a-file\n', 'secrets/api')
    write(`${key}\n`, 'secrets/privacy')
    const secrets = { 'api.secret': { file: 'secrets/api' }, 'privacy.key': { file: 'secrets/privacy' } }
    const config = readWith({ ...secrets, 'privacy.preset': 'pseudonymous' })
    expect([config.api.secret.reveal(), config.privacy.key?.reveal()]).toEqual(['from-a-file', key])
    expect(JSON.stringify(config)).not.toContain(key)
  })

  const around = (text: string): string => ` \t${text}\r\n`
  /** The address of the API, its secret, and the warehouse, as they are typed and as they are meant. */
  test.each([
    [
      'variables',
      ['https://${HOST}.example.com', 's', 'sqlite:/$${x}.db'],
      ['https://eu.example.com', 's', 'sqlite:/${x}.db'],
    ],
    [
      'a variable in a variable',
      ['https://x.example.com', '${TEXT}', 'sqlite:/w'],
      ['https://x.example.com', 'a${b}c', 'sqlite:/w'],
    ],
    [
      'blanks and line breaks',
      [around('https://x.example.com'), around('s'), '${URL}'],
      ['https://x.example.com', 's', 'postgres://me:pw@db/shop'],
    ],
    [
      'an escaped password',
      ['https://x.example.com', 's', 'postgres://me:50%25off@db/d'],
      ['https://x.example.com', 's', 'postgres://me:50%25off@db/d'],
    ],
    [
      'the home directory',
      ['https://x.example.com', 's', 'sqlite:~/w.db'],
      ['https://x.example.com', 's', `sqlite:${homedir()}/w.db`],
    ],
  ])('takes %s as meant', (_, [baseUrl, secret, url], meant) => {
    const typed = {
      'api.baseUrl': baseUrl,
      'api.secret': secret,
      'warehouse.url': url,
      'api.partnerId': ' 42\n',
    }
    const { api, warehouse } = readWith(typed, {
      HOST: 'eu',
      TEXT: 'a${b}c',
      URL: around('postgres://me:pw@db/shop'),
    })
    expect([api.baseUrl, api.secret.reveal(), warehouse.url.reveal()]).toEqual(meant)
    expect(api.partnerId).toBe('42')
  })

  test('is found by --config, then by SHOPSYNC_CONFIG, then in the working directory', () => {
    for (const name of ['config', 'env', 'flag']) write(changed({ 'api.partnerId': name }), `${name}.json`)
    const env = { ...environment, SHOPSYNC_CONFIG: 'env.json' }
    const found = [read(), read(env), read(env, join(folder, 'flag.json'))]
    expect(found.map(({ api }) => api.partnerId)).toEqual(['config', 'env', 'flag'])
    expect(load({ environment, workingDirectory: folder, ...checks }).variables).toEqual([
      'SHOPSYNC_API_SECRET',
    ])
  })
})

/** What is changed, and parts of what is said of it. */
const refusals = `
{"api.basUrl": "x"} → api.basUrl … unknown key "basUrl" … nearest known key is "baseUrl"
{"rateReserve": 0.5} → rateReserve … It belongs under "api"
{"zzzzzzzzzzz": 1} → unknown key "zzzzzzzzzzz" … nearest known key is "
{"${'['.repeat(1000)}": 1} → unknown key
{"api.baseUrl": "http://api.example.com"} → expected https … Type "baseUrl": "https://api.example.com" … "api": {"allowInsecure": true}
{"api.baseUrl": "api.example.com"} → found "api.example.com" … begins with https:// … Type "baseUrl": "https://api.example.com"
{"api.rateReserve": 1} → found 1, expected a number from 0 to 0.9
{"api.secret": 987654321} → api.secret
{"api.secret": "\${EMPTY}"} → EMPTY is empty
{"api.secret": "\${TWO_LINES}"} → api.secret: found the value of \${TWO_LINES} (not shown) … on one line
{"api.secret": {"file": "no-ascii"}} → api.secret: found the text of the file "no-ascii" (not shown) … printable ASCII
{"api.secret": "pasted\u00e9"} → api.secret … (not shown) … printable ASCII on one line … Copy it again
{"api.secret": "two\\nlines"} → api.secret … (not shown) … printable ASCII on one line … Copy it again
{"api.secret": {"file": "two-lines"}} → api.secret.file: found a file of 2 lines at … that holds the secret on one line
{"warehouse.url": {"file": "two-lines"}} → warehouse.url.file: found a file of 2 lines at
{"alerts.heartbeat": {"file": "two-lines"}} → alerts.heartbeat.file: found a file of 2 lines at
{"privacy.key": {"file": "two-lines"}} → privacy.key.file: found a file of 2 lines at
{"api.timeouts.request": "PT0S"} → found "PT0S", expected an ISO 8601 duration longer than zero … Type "request": "PT60S"
{"api.timeouts.request": "P0D"} → api.timeouts.request: found "P0D", expected an ISO 8601 duration longer than zero
{"api.timeouts.request": "P25D"} → found "P25D" … of at most P20D
{"api.timeouts.connect": "P25D"} → found "P25D" … of at most P20D
{"api.timeouts.headers": "P25D"} → found "P25D" … of at most P20D
{"api.timeouts.body": "P25D"} → found "P25D" … of at most P20D
{"sync": []} → sync: found [], expected an object
{"sync.tenants": [1.5]} → sync.tenants[0]: found 1.5 … the id of a tenant
{"sync.overlap": "P9999Y"} → sync.overlap … at most P3650D
{"sync.resources": ["customers", "vehicle"]} → sync.resources[1]: found "vehicle" … Did you mean "vehicles"?
{"resources.custmers.enabled": false} → resources.custmers … nearest known key is "customers"
{"resources.customer_payment_types.history": true} → resources.customer_payment_types.history: found true … have no versions
{"resources.vehicles.columns.vin": "string"} → found "string", expected one of id, integer
{"resources.vehicles.columns.VIN no": "text"} → found the key "VIN no", expected
{"resources.vehicles.columns.updated_at": "text"} → columns.updated_at … a field that has no column yet … already exists
{"resources.vehicles.columns.ID": "text"} → vehicles.id already exists, and SQLite takes both names for one column
{"resources.vehicles.columns": {"vin": "text", "VIN": "text"}} → vehicles.vin already exists, and SQLite takes both names
{"resources.vehicles.columns.xmin": "text"} → found the key "xmin" … a column xmin of their own
{"resources.vehicles.columns.CTID": "text"} → found the key "CTID" … a column CTID of their own
{"resources.vehicles.columns.tableoid": "text"} → found the key "tableoid" … a column tableoid of their own
{"resources.vehicles.columns.rowid": "text"} → found the key "rowid" … a column rowid of their own
{"resources.vehicles.columns.oid": "text"} → found the key "oid" … a column oid of their own
{"warehouse.url": "sqlite::memory:"} → an in-memory database
{"warehouse.url": "sqlite:~bob/w.db"} → begins with ~
{"warehouse.url": "postgres://db/x", "warehouse.schema": "shop", "report.schema": "shop"} → report.schema: found "shop" … for "shop_analytics"
{"warehouse.url": "postgres://db/x", "warehouse.schema": "${'x'.repeat(54)}"} → warehouse.schema: found … at most 53 characters … report.schema
{"report.timeZone": "UTC-6"} → report.timeZone: found "UTC-6", expected the name of a time zone such as "America/Chicago". Use a place name
{"report.timeZone": "-06:00"} → report.timeZone: found "-06:00", expected the name of a time zone … Use a place name
{"report.timeZone": "EST"} → report.timeZone: found "EST" … Did you mean "America/New_York"?
{"report.timeZone": "Chicago"} → report.timeZone: found "Chicago" … Did you mean "America/Chicago"?
{"report.timeZone": "europe/berlin"} → found "europe/berlin" … Did you mean "Europe/Berlin"?
{"report.timeZone": "America/Chcago"} → Did you mean "America/Chicago"?
{"report.shopTimeZones.101/3": "GMT+2"} → report.shopTimeZones.101/3: found "GMT+2" … Use a place name
{"report.shopTimeZones.101": "UTC"} → expected a tenant and a shop, such as "101/3"
{"report.timezone": "UTC"} → nearest known key is "timeZone"
{"report.names.shop": "name"} → nearest known key is "shops"
{"report.names.shops": []} → expected the name of a field as the API sends it, or a list
{"report.names.shops": "x' or 1"} → expected the name of a field as the API sends it
{"report.tenantNames.main": "A"} → expected the id of a tenant, such as "101"
{"report.taxRates": "fractions"} → Did you mean "fraction"?
{"report.schema": "My Views"} → expected the name of a Postgres schema
{"privacy": "keep"} → privacy: found "keep", expected an object
{"privacy.preset": "pseudonymous"} → privacy.key: missing
{"privacy.preset": "anonymous"} → privacy.preset: found "anonymous", expected one of none, pseudonymous
{"privacy.keyVersion": 0} → privacy.keyVersion: found 0
{"privacy.preset": "pseudonymous", "privacy.key": "aHVudGVyMmh1bnRlcjJodQ=="} → privacy.key: found one of 16 bytes, expected base64 of 32 bytes or more
{"privacy.preset": "pseudonymous", "privacy.key": "hunter2 hunter2 hunter2 hunter2 hunter2"} → privacy.key: found a text that is not base64 (not shown)
{"privacy.customers": "keep"} → privacy.customers: found "keep", expected an object such as {"email": "keep"}
{"privacy.customers.email": "hash"} → privacy.key: missing; expected base64 of 32 bytes or more … openssl rand -base64 32
{"privacy.customers.emial": "keep"} → privacy.customers.emial: found the unknown key … a column of customers … known key is "email"
{"privacy.custmers.email": "keep"} → privacy.custmers: found the unknown key … known key is "customers"
{"privacy.key": "${key}", "privacy.customers.marketing_ok": "hash"} → customers.marketing_ok: found "hash" … only text can be hashed
{"privacy.key": "${key}", "privacy.vehicles._extra": "hash"} → privacy.vehicles._extra: found "hash" … make the field a column
{"privacy.payments.id": "drop"} → privacy.payments.id: found "drop", expected "keep" … it holds rows together
{"privacy.payments.updated_at": "drop"} → privacy.payments.updated_at: found "drop", expected "keep"
{"privacy.payments.repair_order_id": "drop"} → privacy.payments.repair_order_id: found "drop", expected "keep"
{"privacy.payments._deleted_at": "drop"} → privacy.payments._deleted_at: found "drop", expected "keep"
{"privacy.payments.amount_cents": "drop"} → privacy.payments.amount_cents: found "drop", expected "keep"
`
const schemas = ['pg_shop', 'information_schema', 'x'.repeat(64), 'Shop', '1shop'].flatMap((name) =>
  ['warehouse', 'report'].map(
    (of) =>
      `{"warehouse.url": "postgres://db/x", "${of}.schema": "${name}"} → ${of}.schema: found "${name}" … without pg_ at the beginning`,
  ),
)

test.each([...refusals.trim().split('\n'), ...schemas])('%s', (line) => {
  const [changes = '', said = ''] = line.split(' → ')
  write('\nhunter2\nhunter2\n', 'two-lines')
  write('hunter\u00e9', 'no-ascii')
  const message = refused(changed(JSON.parse(changes)))
  for (const part of said.split(' … ')) expect(message).toContain(part)
})

test.each(
  `
{"warehouse.url": "sqlite:./x.db", "report.schema": "shopsync"}
{"resources.vehicles.columns.vin": "text", "privacy.vehicles.vin": "keep"}
{"resources.vehicles.columns.vin": "text", "privacy": {"key": "${key}", "vehicles": {"vin": "hash", "_extra": "drop"}}}
`
    .trim()
    .split('\n'),
)('%s is accepted', (changes) => {
  readWith(JSON.parse(changes))
})

test('what is no object, or nested deeper than any configuration needs, is refused in time', () => {
  expect(refused([1])).toContain('found [1], expected an object')
  for (const deep of ['['.repeat(100_000), `{"api":${'['.repeat(100_000)}${']'.repeat(100_000)}}`])
    expect(refused(deep)).toMatch(/line 1, column \d+: found more than 100 nested brackets/)
})

test('config.example.json is accepted as it is, and shows every kind of alert', () => {
  const example = textOf('config.example.json')
  write(example)
  expect(read().sync.overlap).toBe(300_000)
  expect(JSON.parse(example).alerts.rules[0].on).toEqual(alertKinds)
  expect(example).not.toContain('sandbox-secret')
})
