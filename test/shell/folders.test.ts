// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** Where relative paths start: those of a configuration in its folder, those of flags in the working directory. */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { load } from '../../src/engine/config/load.js'
import { type Ended, shopsync } from '../support/harness/call.js'
import { checks } from '../support/harness/checks.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { scratch } from '../support/harness/scratch.js'

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 3 })

/** The configuration's folder, as it is named; the one its file is in; and the working directory. */
let named: string
let linked: string
let here: string

const program = '#!/bin/sh\ncat > /dev/null\necho "$1" >> told.txt\n'

/** Its name has a blank: what is to be typed must be quoted. */
function folder(): string {
  const made = join(scratch(), 'my shops')
  mkdirSync(made)
  return made
}

beforeEach(() => {
  ;[named, linked, here] = [folder(), folder(), folder()]
  symlinkSync(join(linked, 'config.json'), join(named, 'config.json'))
  write({})
})

function write(more: Record<string, unknown>): void {
  const { url: baseUrl, partnerId } = sandbox
  const api = { baseUrl, partnerId, secret: { file: 'secrets/api' } }
  const warehouse = { url: 'sqlite:${DATA}/warehouse.db' }
  writeFileSync(join(linked, 'config.json'), JSON.stringify({ api, warehouse, ...more }))
}

/** What the configuration names, in a folder. `mark`: what tells this folder's from others'. */
function fill(folder: string, mark: string): void {
  for (const name of ['data', 'secrets', 'bin', 'jobs']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'secrets/api'), mark === 'named' ? sandbox.secret : 'wrong', { mode: 0o600 })
  writeFileSync(join(folder, 'shopsync.env'), mark === 'named' ? 'DATA=./data' : 'DATA=/nowhere', {
    mode: 0o600,
  })
  writeFileSync(join(folder, 'bin/tell'), program, { mode: 0o755 })
  const steps = [
    { command: 'sync', resources: ['notes'] },
    { command: 'report', out: 'data/page.html' },
  ]
  const heartbeat = { file: 'secrets/beat' }
  writeFileSync(join(folder, 'secrets/beat'), `${sandbox.url}/${mark}`, { mode: 0o600 })
  const then = [{ command: ['bin/tell', 'job'], on: 'finished' }]
  writeFileSync(join(folder, 'jobs/own.json'), JSON.stringify({ description: mark, steps, heartbeat, then }))
}

const run = (...words: string[]): Promise<Ended> =>
  shopsync([...words, '--config', join(named, 'config.json')], { cwd: here })

test('a configuration means its own folder, as it was named, in all that it names', async () => {
  for (const [folder, mark] of [
    [named, 'named'],
    [linked, 'linked'],
    [here, 'here'],
  ] as const)
    fill(folder, mark)
  write({
    metrics: { textfile: 'data/shop.prom' },
    alerts: { rules: [{ on: ['stale'], command: ['./bin/tell', 'alert'] }] },
    then: [{ command: ['sh', 'bin/tell', 'sync'], on: 'finished' }],
    status: { staleAfter: 'PT1H' },
  })
  const checked = await run('check', '--alerts')
  expect(checked.stdout).toMatch(/alerts\.rules\[0\] \(command\) +accepted the test/)
  for (const words of [
    ['sync', '--resource', 'notes'],
    ['run', 'own'],
  ]) {
    const ended = await run(...words)
    expect(ended.code, ended.stderr).toBe(0)
  }
  expect(readFileSync(join(named, 'told.txt'), 'utf8')).toBe('alert\nsync\njob\n')
  const made = ['data/warehouse.db', 'data/shop.prom', 'data/page.html', 'told.txt']
  const there = (folder: string) => made.filter((file) => existsSync(join(folder, file)))
  expect([named, linked, here].map(there)).toEqual([made, [], []])
  expect((await run('jobs', 'show', 'own', '--json')).stdout).toContain(join(named, 'jobs/own.json'))
  // What a flag names.
  expect((await run('report', '--out', 'mine.html')).code).toBe(0)
  expect((await run('copy', '--to', 'sqlite:copy.db')).code).toBe(0)
  expect(['mine.html', 'copy.db'].filter((file) => existsSync(join(here, file)))).toHaveLength(2)
})

test('certificates start there, too', async () => {
  fill(named, 'named')
  write({ events: { tls: { cert: 'own.pem', key: 'own.key' } }, schedule: { events: true, listen: false } })
  for (const words of [['listen'], ['schedule']])
    expect((await run(...words)).stderr).toContain(`The certificate ${join(named, 'own.pem')} cannot be read`)
  const flags = ['--tls-cert', 'other.pem', '--tls-key', 'other.key']
  expect((await run('listen', ...flags)).stderr).toContain(
    `The certificate ${join(here, 'other.pem')} cannot`,
  )
  write({ warehouse: { url: 'postgres://db/x?sslmode=verify-ca&sslrootcert=ca.pem' } })
  const around = { environment: {}, workingDirectory: here, file: join(named, 'config.json'), ...checks }
  expect(load(around).config.warehouse.url.reveal()).toContain(encodeURIComponent(join(named, 'ca.pem')))
})

test('a warehouse or jobs that only the working directory has: nothing is begun anew', async () => {
  fill(named, 'named')
  expect((await run('sync', '--resource', 'notes')).code).toBe(0)
  cpSync(join(named, 'data'), join(here, 'data'), { recursive: true })
  cpSync(join(named, 'jobs'), join(here, 'jobs'), { recursive: true })
  named = folder()
  fill(named, 'named')
  cpSync(join(linked, 'config.json'), join(named, 'config.json'))
  for (const words of [['sync'], ['status'], ['copy', '--to', 'sqlite:copy.db']]) {
    const { code, stderr } = await run(...words)
    expect([code, stderr]).toEqual([2, expect.stringContaining(join(here, 'data/warehouse.db'))])
    expect(stderr).toContain(`expected it at ${join(named, 'data/warehouse.db')}`)
    expect(stderr).toContain(`type mv '${join(here, 'data/warehouse.db')}'* '${join(named, 'data')}/'`)
  }
  expect(existsSync(join(named, 'data/warehouse.db'))).toBe(false)
})

test('jobs that only the working directory has are not replaced by the shipped ones', async () => {
  fill(here, 'here')
  for (const name of ['data', 'secrets']) cpSync(join(here, name), join(named, name), { recursive: true })
  cpSync(join(here, 'shopsync.env'), join(named, 'shopsync.env'))
  for (const words of [['run', 'hourly'], ['jobs', 'list'], ['schedule'], ['check']]) {
    const { code, stderr } = await run(...words)
    expect([words, code, stderr]).toEqual([
      words,
      2,
      expect.stringContaining(`Found jobs in ${join(here, 'jobs')}`),
    ])
    expect(stderr).toContain(`type mv '${join(here, 'jobs')}' '${join(named, 'jobs')}'`)
  }
})

test('a file with variables, which is found beside the configuration, names no other one', async () => {
  fill(here, 'here')
  writeFileSync(join(here, 'shopsync.env'), `DATA=./data\nSHOPSYNC_CONFIG=${join(named, 'config.json')}`)
  for (const words of [['status'], ['jobs', 'list'], ['dictionary', '--out', 'dictionary.md']]) {
    const { code, stderr } = await shopsync(words, { cwd: here })
    expect(stderr).not.toContain(named)
    if (words[0] === 'status')
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`Found no configuration at ${join(here, 'config.json')}`),
      ])
  }
})
