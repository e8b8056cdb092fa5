/**
 * The program as it is installed: dist/bin, the compiled files bundled into a few. The other tests run the compiled
 * files themselves. These check what bundling can break: threads, which are started by their files' names, and the
 * files next to the program. That it loads Postgres: tarball.test.ts.
 */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { inFile } from '../support/harness/databases.js'
import { startStaying } from '../support/harness/listening.js'
import { viewedPlace } from '../support/harness/place.js'
import { program as installed, Program } from '../support/harness/process.js'
import { filesIn, loadedWith, textOf } from '../support/harness/tree.js'

const resources = ['repair_orders', 'customers']

const here = await viewedPlace({ tenants: 1, repairOrders: 110 })
here.configure({ sync: { resources }, schedule: { listen: { port: 0 } } })
const env = { PATH: process.env.PATH ?? '', API_SECRET: here.sandbox.secret }

test('nothing that each start loads is imported later: the bundler warns of that to everyone who installs', () => {
  const loaded = loadedWith('dist/src/main.js')
  const later = filesIn('dist/src', '.js').flatMap((file) => {
    const found = [...textOf(file).matchAll(/\bimport\('(\.[^']+)'\)/g)]
    const targets = found.map(([, to = '']) => join(dirname(file), to))
    return targets.filter((to) => loaded.has(to)).map((to) => `${file} imports ${to}`)
  })
  expect(loaded.size).toBeGreaterThan(20)
  expect(later).toEqual([])
})

const run = (...words: string[]) => new Program(installed, words, { cwd: here.folder, env }).ended

test('loads SQLite, whose large pages its writer thread stores, and reads the jobs next to it', async () => {
  const { code, stderr } = await run('run', 'hourly')
  expect([code, stderr.match(/[Bb]ug/)]).toEqual([0, null])
  const status = (await run('status', '--json')).json<{ cursors: { resource: string; rows: number }[] }>()
  expect(status.cursors).toContainEqual(expect.objectContaining({ resource: 'repair_orders', rows: 110 }))
})

test('remembers by its files what the views were made from, and makes them again if one is gone', async () => {
  const file = join(here.folder, 'data/warehouse.db')
  const wanted = (): string =>
    inFile(file, (db) => {
      const value = db.prepare("select value from sync_meta where name = 'views'").pluck().get()
      return JSON.parse(String(value))[' inputs'].wanted
    })
  const before = wanted()
  expect(before).toMatch(/^[0-9a-f]{20}$/)
  inFile(file, (db) => db.exec('drop view orders'))
  here.configure({ sync: { resources }, report: { unlisted: 'leave out' } })
  expect((await run('sync')).code).toBe(0)
  inFile(file, (db) => db.prepare('select count(*) from orders').get())
  expect(wanted()).not.toBe(before)
  here.configure({ sync: { resources }, schedule: { listen: { port: 0 } } })
})

test.each(['16.0.0', '20.18.3'])('says which Node it needs to Node %s', async (version) => {
  const older = join(here.folder, 'older.cjs')
  writeFileSync(older, `Object.defineProperty(process.versions, 'node', { value: '${version}' })`)
  const options = { cwd: here.folder, env: { ...env, NODE_OPTIONS: `--require ${older}` } }
  const { code, stderr } = await new Program(installed, ['status'], options).ended
  const said = `Found Node ${version}, expected 20.19 or newer`
  expect([code, stderr]).toEqual([3, expect.stringContaining(said)])
})

test("makes the scheduler's page in its own thread", async () => {
  const { run: schedule, url } = await startStaying(['schedule'], { cwd: here.folder, env })
  const page = await fetch(url)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('</html>')])
  schedule.kill('SIGTERM')
  expect((await schedule.ended).code).toBe(0)
})
