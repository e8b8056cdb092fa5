/** One new file under schema/ is a new resource: tables, columns, sync, dictionary and configuration follow from it. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it } from 'vitest'
import { createSandbox } from '../../src/sandbox/index.js'
import { scratch } from '../support/scratch.js'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')

const widgets = `import { cents, defineResource, id, many, stamps, text } from './resource.js'

export default defineResource({
  name: 'widgets',
  singular: 'widget',
  entity: 'Widget',
  doc: 'A made-up resource.',
  source: 'nowhere',
  grain: 'one widget of a tenant',
  fields: {
    id: id('Id of the widget.'),
    ...stamps,
    title: text('Title.'),
    price_cents: cents('Price.'),
    gears: many({ table: 'gears', key: 'id', fields: { id: id('Id.'), teeth: text('Teeth.') } }, 'Gears.'),
  },
})
`

it('a made-up resource syncs after one file was added under schema/, and nothing else', async () => {
  const project = scratch()
  for (const part of ['schema', 'src', 'jobs', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(project, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  writeFileSync(join(project, 'schema/widgets.ts'), widgets)
  await run('npm', ['run', 'build'], { cwd: project })

  const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 1 }] })
  sandbox.store.register('widgets')
  for (let n = 1; n <= 120; n++)
    sandbox.store.put(1, 'widgets', {
      id: n,
      title: `widget ${n}`,
      price_cents: n * 100,
      gears: [{ id: n * 10, teeth: 'many' }],
      updated_at: `2026-01-01T00:${String(n % 60).padStart(2, '0')}:00.00000${n % 10}Z`,
    })
  const work = scratch()
  mkdirSync(work, { recursive: true })
  const config = {
    api: { baseUrl: sandbox.url, partnerId: sandbox.partnerId, secret: sandbox.secret },
    warehouse: { url: `sqlite:${join(work, 'warehouse.db')}` },
  }
  writeFileSync(join(work, 'config.json'), JSON.stringify(config))
  const { stdout } = await run('node', [join(project, 'dist/src/cli/main.js'), 'sync', '--json'], {
    cwd: work,
  })
  await sandbox.close()

  const report = JSON.parse(stdout) as { cursors: { resource: string; records: number; status: string }[] }
  expect(report.cursors.find((cursor) => cursor.resource === 'widgets')).toMatchObject({
    status: 'ok',
    completeness: 'proven',
  })
  const db = new BetterSqlite3(join(work, 'warehouse.db'))
  expect(db.prepare('select count(*) as n, sum(price_cents) as cents from widgets').get()).toEqual({
    n: 120,
    cents: 726_000,
  })
  expect(db.prepare('select count(*) as n from widget_gears').get()).toEqual({ n: 120 })
  db.close()
  expect(readFileSync(join(project, 'schema/dictionary.md'), 'utf8')).toContain('widget_gears')
  expect(readFileSync(join(project, 'schema/config.schema.json'), 'utf8')).toContain('widgets')
})
