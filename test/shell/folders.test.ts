// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/**
 * A configuration that is named through a link means the folder where it was named, not the one of its file, nor the working
 * directory: each has files of these names. More of folders: test/transcripts/folders.txt.
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { load } from '../../src/engine/config/load.js'
import { shopsync } from '../support/harness/call.js'
import { checks } from '../support/harness/declared.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { scratch } from '../support/harness/scratch.js'

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 3 })
const program = '#!/bin/sh\ncat > /dev/null\necho "$1" >> told.txt\n'
const steps = [
  { command: 'sync', resources: ['notes'] },
  { command: 'report', out: 'data/page.html' },
]

/** A folder with all that the configuration names. `mark`: what tells this folder's from others'. */
function filled(mark: string): string {
  const folder = scratch()
  const write = (name: string, text: string, mode = 0o600): void =>
    writeFileSync(join(folder, name), text, { mode })
  for (const name of ['data', 'secrets', 'bin', 'jobs']) mkdirSync(join(folder, name))
  write('secrets/api', mark === 'named' ? sandbox.secret : 'wrong')
  write('secrets/beat', `${sandbox.url}/${mark}`)
  write('shopsync.env', mark === 'named' ? 'DATA=./data' : 'DATA=/nowhere')
  write('bin/tell', program, 0o755)
  const then = [{ command: ['bin/tell', 'job'], on: 'finished' }]
  const job = { description: mark, steps, heartbeat: { file: 'secrets/beat' }, then }
  write('jobs/own.json', JSON.stringify(job))
  return folder
}

test('a configuration means its own folder, as it was named, in all that it names', async () => {
  const [named, linked, here] = [filled('named'), filled('linked'), filled('here')]
  const file = join(named, 'config.json')
  symlinkSync(join(linked, 'config.json'), file)
  const write = (more: object): void => {
    const api = { baseUrl: sandbox.url, partnerId: sandbox.partnerId, secret: { file: 'secrets/api' } }
    const config = { api, warehouse: { url: 'sqlite:${DATA}/warehouse.db' }, ...more }
    writeFileSync(join(linked, 'config.json'), JSON.stringify(config))
  }
  const alerts = { rules: [{ on: ['stale'], command: ['./bin/tell', 'alert'] }] }
  const then = [{ command: ['sh', 'bin/tell', 'sync'], on: 'finished' }]
  write({ metrics: { textfile: 'data/shop.prom' }, alerts, then, status: { staleAfter: 'PT1H' } })
  const run = (...words: string[]) => shopsync([...words, '--config', file], { cwd: here })
  expect((await run('check', '--alerts')).stdout).toMatch(/alerts\.rules\[0\] \(command\) +accepted the test/)
  expect(await run('sync', '--resource', 'notes')).toMatchObject({ code: 0 })
  expect(await run('run', 'own')).toMatchObject({ code: 0 })
  expect(readFileSync(join(named, 'told.txt'), 'utf8')).toBe('alert\nsync\njob\n')
  const made = ['data/warehouse.db', 'data/shop.prom', 'data/page.html', 'told.txt']
  const there = (folder: string) => made.filter((name) => existsSync(join(folder, name)))
  expect([named, linked, here].map(there)).toEqual([made, [], []])
  expect((await run('jobs', 'show', 'own', '--json')).stdout).toContain(join(named, 'jobs/own.json'))
  write({ warehouse: { url: 'postgres://db/x?sslmode=verify-ca&sslrootcert=ca.pem' } })
  const { config } = load({ environment: {}, workingDirectory: here, file, ...checks })
  expect(config.warehouse.url.reveal()).toContain(encodeURIComponent(join(named, 'ca.pem')))
})
