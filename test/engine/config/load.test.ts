// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** The stories of load.txt, and what a configuration means. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { toJson } from '../../../src/engine/base/printjson.js'
import type { Config } from '../../../src/engine/config/config.js'
import { load } from '../../../src/engine/config/load.js'
import { parseJson } from '../../../src/engine/source/http/exactjson.js'
import { checks } from '../../support/harness/declared.js'
import { scratch } from '../../support/harness/scratch.js'
import { textOf } from '../../support/harness/tree.js'
import { Steps, storiesAsTests } from '../../support/world/stories.js'

const key = Buffer.alloc(32, 7).toString('base64')
const environment: Record<string, string> = {
  SHOPSYNC_API_SECRET: 'tops3cret',
  EMPTY: '',
  TWO_LINES: 'hunter2\nhunter2',
  HOST: 'eu',
  TEXT: 'a${b}c',
  URL: ' \tpostgres://me:pw@db/shop\r\n',
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

/** What it means, or what is wrong with it, but for the words around. */
function said(content: unknown): string {
  write(content)
  try {
    const { api, warehouse, privacy, sync } = read()
    const [secret, url, key] = [api.secret, warehouse.url, privacy.key].map((one) => one?.reveal())
    return `accepted: ${[api.baseUrl, api.partnerId, secret, url, key ?? 'no key', sync.tenants].map(String).join(', ')}`
  } catch (error) {
    expect(error).toBeInstanceOf(Stop)
    expect(error).toMatchObject({ exitCode: 2 })
    const { message } = error as Stop
    expect(message).not.toMatch(/tops3cret|hunter2|987654321|Invalid input|Did you mean "text"/)
    const [, ...problems] = message.replaceAll(/ \(line \d+\)/g, '').split('\n')
    return problems.length === 0 ? message : problems.slice(0, -1).join(' /').trim()
  }
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

const files = {
  'two-lines': '\nhunter2\nhunter2\n',
  'no-ascii': 'hunter\u00e9',
  'secrets/api': 'from-a-file\n',
  'secrets/privacy': `${key}\n`,
}
const steps = new Steps<null>({
  REST: (_, changes) => {
    mkdirSync(join(folder, 'secrets'))
    for (const [name, content] of Object.entries(files)) write(content, name)
    const told = said(changed(parseJson(Buffer.from(changes!)).value as Record<string, unknown>))
    rmSync(join(folder, 'secrets'), { recursive: true })
    return told.replaceAll(folder, '<folder>').replaceAll(homedir(), '<home>')
  },
})
storiesAsTests('test/engine/config/load.txt', steps, () => null)

test('what is no object, or nested deeper than any configuration needs, is refused in time', () => {
  expect(said([1])).toContain('found [1], expected an object')
  expect(said(changed({ ['['.repeat(1000)]: 1 }))).toContain('unknown key')
  for (const deep of ['['.repeat(100_000), `{"api":${'['.repeat(100_000)}${']'.repeat(100_000)}}`])
    expect(said(deep)).toMatch(/line 1, column \d+: found more than 100 nested brackets/)
})

test('config.example.json is accepted as it is', () => {
  write(textOf('config.example.json'))
  expect(read().sync.overlap).toBe(300_000)
})
