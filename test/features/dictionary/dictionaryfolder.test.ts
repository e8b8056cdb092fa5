/** `dictionary --out`: what it writes and replaces. What it refuses: test/transcripts/folders.txt. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { figures } from '../../../schema/figures/index.js'
import { shopsync } from '../../support/harness/call.js'
import { scratch } from '../../support/harness/scratch.js'

const written = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
const textOf = (...path: string[]): string => readFileSync(join(...path), 'utf8')

it('writes one page per relation, replaces its own, and removes those that are no longer written', async () => {
  const cwd = scratch()
  const first = await shopsync(['dictionary', '--out', 'pages'], { cwd })
  expect([first.code, first.stdout]).toEqual([0, expect.stringMatching(/^Wrote \d+ files to pages\n$/)])
  const names = written(join(cwd, 'pages'))
  expect(names).toEqual(expect.arrayContaining(['README.md', 'orders.md', 'repair_orders.md']))
  const [mark = ''] = textOf(cwd, 'pages/orders.md').split('\n')
  writeFileSync(join(cwd, 'pages/orders.md'), `${mark}\nold`)
  writeFileSync(join(cwd, 'pages/gone.md'), `${mark}\n# a relation of an earlier version`)
  writeFileSync(join(cwd, 'pages/mine.md'), `${'My notes.'}\n${mark}`)
  expect((await shopsync(['dictionary', '--format', 'md', '--out', 'pages'], { cwd })).code).toBe(0)
  expect(written(join(cwd, 'pages'))).toEqual([...names, 'mine.md'].sort())
  expect(textOf(cwd, 'pages/orders.md')).toContain('# orders')
  expect(textOf(cwd, 'pages/mine.md')).toContain('My notes.')
})

it('writes a dbt project with complete files, and leaves what others added', async () => {
  const cwd = scratch()
  const call = () => shopsync(['dictionary', '--format', 'dbt', '--out', 'project'], { cwd })
  expect((await call()).code).toBe(0)
  const at = (name: string): string => join(cwd, 'project', name)
  expect(parse(textOf(at('dbt_project.yml')))).toMatchObject({ name: 'shopsync', profile: 'shopsync' })
  const stdout = (await shopsync(['dictionary', '--format', 'dbt'], { cwd })).stdout
  expect(textOf(at('models/sources.yml'))).toBe(stdout)
  expect(textOf(at('models/relations/stg_shopsync__orders.sql'))).toContain(
    "select * from {{ source('shopsync_analytics', 'orders') }}",
  )
  const text = textOf(at('models/metrics.yml'))
  // No condition twice in an expression, and no unit that is none.
  expect(text).not.toMatch(/\(([^()]+)\) and \(\1\)|as declared/i)
  const { metrics } = parse(text) as { metrics: { name: string }[] }
  const names = metrics.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(figures.map(({ name }) => name)))
  expect(new Set(names).size).toBe(names.length)
  writeFileSync(at('models/mine.sql'), 'select 1')
  writeFileSync(at('profiles.yml'), 'shopsync: {}')
  expect((await call()).code).toBe(0)
  expect(textOf(at('models/mine.sql'))).toBe('select 1')
  writeFileSync(at('models/metrics.yml'), 'metrics: []')
  expect(await call()).toMatchObject({ code: 2, stderr: expect.stringContaining('metrics.yml') })
})
