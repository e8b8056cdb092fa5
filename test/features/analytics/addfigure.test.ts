/**
 * A figure is one file: with it, `npm run build` and `migrate` add its columns, its page in the dictionary, its metrics
 * for dbt and Superset, and its line in the report. A wrong declaration fails the build. Runs a copy of the project.
 */
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { shopsync } from '../../support/call.js'
import { configure } from '../../support/place.js'
import { sandboxOfFile } from '../../support/sandbox.js'
import { scratch } from '../../support/scratch.js'
import { root } from '../../support/tree.js'
import { query } from '../../support/views.js'
import { reopen, warehouses } from '../../support/warehouse.js'

const project = scratch()
const patience = 240_000
const name = 'labor_before_discount_cents'

const declaration = (sum: string): string => `import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: '${name}',
  label: 'Labor before discount',
  doc: 'Labor on invoices, before its discount.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: '${sum}' },
  by: ['advisor_key'],
  lists: ['repair_orders'],
})
`

interface Answer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = (...words: string[]): Promise<Answer> =>
  promisify(execFile)('node', words, { cwd: project, maxBuffer: 1e8 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (failed: Answer) => failed,
  )

/** The last step of the build. */
const artifacts = 'dist/src/artifacts.js'

/** Like `npm run build`, but without the bundle, which contains whatever exists. */
async function build(): Promise<Answer> {
  for (const words of [
    ['schema/registry.mjs'],
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
    [artifacts],
  ]) {
    const ended = await run(...words)
    if (ended.code !== 0) return ended
  }
  return { code: 0, stdout: '', stderr: '' }
}

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 30, seed: 3, until: '2026-11-20T12:00:00Z' })
const figureFile = join(project, `schema/figures/${name}.ts`)

beforeAll(async () => {
  for (const part of ['docs', 'jobs', 'schema', 'src', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(project, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  writeFileSync(figureFile, declaration('labor_cents'))
  expect(await build()).toMatchObject({ code: 0 })
  // To the compiler, both are texts: what refuses the wrong one is the build's last step.
  const compiled = join(project, `dist/schema/figures/${name}.js`)
  const sound = readFileSync(compiled, 'utf8')
  writeFileSync(compiled, sound.replace('labor_cents', 'labor_rate'))
  const wrong = await run(artifacts)
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toContain(`schema/figures/${name}.ts: found labor_rate, expected columns of orders: `)
  writeFileSync(compiled, sound)
}, patience)

describe.each(warehouses())('$name', (kind) => {
  it('an existing warehouse has it after migrate, without a request', { timeout: patience }, async () => {
    const address = kind.address()
    const config = configure(sandbox, address, ['repair_orders', 'shops'], {})
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    const requests = sandbox.requests.length
    const migrated = await run('dist/src/entry.js', 'migrate', '--config', config)
    expect(migrated).toMatchObject({ code: 0, stdout: expect.stringContaining('shop_months: replace view') })
    expect(sandbox.requests.length).toBe(requests)
    const warehouse = await reopen(address)
    const [months] = await query(warehouse, `select sum(${name}) as n from {shop_months}`)
    const [orders] = await query(
      warehouse,
      "select sum(labor_cents) as n from {orders} where state = 'invoice'",
    )
    await warehouse.close()
    expect(Number(months?.n)).toBeGreaterThan(1000)
    expect(Number(months?.n)).toBe(Number(orders?.n))

    const page = join(project, `${kind.name}.html`)
    expect(await run('dist/src/entry.js', 'report', '--config', config, '--out', page)).toMatchObject({
      code: 0,
    })
    expect(readFileSync(page, 'utf8')).toContain('Labor before discount')
  })
})

it('the dictionary, dbt and Superset have it', { timeout: patience }, async () => {
  const written = await run('dist/src/entry.js', 'dictionary', '--json')
  const { figures } = JSON.parse(written.stdout) as {
    figures: readonly { name: string; numerator: string }[]
  }
  expect(figures.find((figure) => figure.name === name)).toMatchObject({ numerator: 'sum(labor_cents)' })
  expect(readFileSync(join(project, `schema/dictionary/figures/${name}.md`), 'utf8')).toContain(
    'Labor before discount',
  )
  const folder = join(project, 'dbt')
  const dbt = await run('dist/src/entry.js', 'dictionary', '--format', 'dbt', '--out', folder)
  expect(dbt).toMatchObject({ code: 0 })
  const found = await promisify(execFile)('grep', ['-rl', name, folder])
  expect(found.stdout).not.toBe('')
  const { stdout } = await promisify(execFile)(
    'node',
    ['dist/src/entry.js', 'dictionary', '--format', 'superset'],
    {
      cwd: project,
      maxBuffer: 1e8,
      encoding: 'buffer',
    },
  )
  expect(stdout.toString('latin1')).toContain(name)
  rmSync(folder, { recursive: true })
})
