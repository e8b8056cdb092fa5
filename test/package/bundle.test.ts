/**
 * The program as it is installed: dist/bin, the compiled files bundled into a few. The other tests run the compiled
 * files themselves. These check what bundling can break: threads, which are started by their files' names, and the
 * files next to the program.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configure, type Place, viewedPlace } from '../support/harness/place.js'
import { Program } from '../support/harness/process.js'
import { filesIn, root } from '../support/harness/tree.js'
import { postgresUrl } from '../support/harness/warehouse.js'

const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { bin: { shopsync: string } }
const installed = join(root, bin.shopsync)
const resources = ['repair_orders', 'customers']

let here: Place
let env: Record<string, string>

beforeAll(async () => {
  here = await viewedPlace({ tenants: 1, repairOrders: 110 })
  here.configure({ sync: { resources }, schedule: { listen: { port: 0 } } })
  env = { PATH: process.env.PATH ?? '', API_SECRET: here.sandbox.secret }
})
afterAll(() => here.remove())

test('nothing that each start loads is imported later: the bundler warns of that to everyone who installs', () => {
  const text = (file: string): string => readFileSync(file, 'utf8')
  const statics = /^(?:import|export)[^'"()]*?'(\.[^']+)'/gm
  const loaded = new Set<string>()
  const load = (file: string): void => {
    if (loaded.has(file)) return
    loaded.add(file)
    for (const [, name = ''] of text(file).matchAll(statics)) load(join(dirname(file), name))
  }
  load(join(root, 'dist/src/main.js'))
  const later = filesIn('dist/src', '.js').flatMap((name) => {
    const file = join(root, name)
    const found = [...text(file).matchAll(/\bimport\('(\.[^']+)'\)/g)]
    return found
      .map(([, to = '']) => join(dirname(file), to))
      .filter((to) => loaded.has(to))
      .map((to) => `${name} imports ${to}`)
  })
  expect(loaded.size).toBeGreaterThan(20)
  expect(later).toEqual([])
})

const run = (...words: string[]) => new Program(installed, words, { cwd: here.folder, env }).ended

test('loads SQLite, whose large pages its writer thread stores, and reads the jobs next to it', async () => {
  const { code, stderr } = await run('run', 'hourly')
  expect([code, stderr.match(/[Bb]ug/)]).toEqual([0, null])
  const db = new Database(join(here.folder, 'data/warehouse.db'), { readonly: true })
  const { orders } = db.prepare('select count(*) as orders from repair_orders').get() as { orders: number }
  db.close()
  expect(orders).toBe(110)
})

test('remembers by its files what the views were made from, and makes them again if one is gone', async () => {
  const file = join(here.folder, 'data/warehouse.db')
  const look = () => {
    const db = new Database(file)
    const { value } = db.prepare("select value from sync_meta where name = 'views'").get() as {
      value: string
    }
    const views = db.prepare("select name from sqlite_master where type = 'view' and name = 'orders'").all()
    return { inputs: JSON.parse(value)[' inputs'], views: views.length, db }
  }
  const { inputs, db } = look()
  expect(inputs.wanted).toMatch(/^[0-9a-f]{20}$/)
  db.exec('drop view orders')
  db.close()
  here.configure({ sync: { resources }, report: { unlisted: 'leave out' } })
  expect((await run('sync')).code).toBe(0)
  const later = look()
  later.db.close()
  expect(later.views).toBe(1)
  expect(later.inputs.wanted).not.toBe(inputs.wanted)
  here.configure({ sync: { resources }, schedule: { listen: { port: 0 } } })
})

test.each(['16.0.0', '20.18.3'])('says which Node it needs to Node %s', async (version) => {
  const older = join(here.folder, 'older.cjs')
  writeFileSync(older, `Object.defineProperty(process.versions, 'node', { value: '${version}' })`)
  const { code, stderr } = await new Program(installed, ['status'], {
    cwd: here.folder,
    env: { ...env, NODE_OPTIONS: `--require ${older}` },
  }).ended
  expect([code, stderr]).toEqual([
    3,
    expect.stringContaining(`Found Node ${version}, expected 20.19 or newer`),
  ])
})

test("makes the scheduler's page in its own thread", async () => {
  const schedule = new Program(installed, ['schedule'], { cwd: here.folder, env })
  const url = await new Promise<string>((resolve, reject) => {
    schedule.child.stdout?.on('data', (chunk: Buffer) => {
      const found = /http:\/\/\S+/.exec(chunk.toString())?.[0]
      if (found) resolve(found)
    })
    void schedule.ended.then(({ stderr }) => reject(new Error(stderr)))
  })
  const page = await fetch(url)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('</html>')])
  schedule.child.kill('SIGTERM')
  expect((await schedule.ended).code).toBe(0)
})

test('loads Postgres', async () => {
  const address = { url: postgresUrl(), schema: 'installed_program' }
  const config = configure(here.sandbox, address, ['customers'])
  const synced = await run('sync', '--config', config, '--json')
  expect(synced.code).toBe(0)
  const status = (await run('status', '--config', config, '--json')).json<{ cursors: { rows: number }[] }>()
  expect(status.cursors[0]?.rows).toBeGreaterThan(10)
})
