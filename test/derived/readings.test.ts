/**
 * The cases of totals.txt can fail: each wrong reading of the formula that readings.txt has is caught by one of them. It is
 * planted in a copy of the compiled rule.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { expect, it } from 'vitest'
import type { Derived } from '../../schema/derive.js'
import { systemClock } from '../../src/engine/base/clock.js'
import { derivePage } from '../../src/engine/model/flatten/derivedvalues.js'
import { known } from '../support/harness/runs.js'
import { scratch } from '../support/harness/scratch.js'
import { someOf } from '../support/harness/size.js'
import { root, textOf } from '../support/harness/tree.js'
import { usualRules } from '../support/harness/warehouse.js'
import { cases, type TotalsCase } from './cases.js'

const resource = known.byName.get('repair_orders')!
const [totals] = resource.derived
const { declared, table } = totals!
const columns = table.columns.map(({ name }) => name).filter((name) => !/^(tenant_id|_)/.test(name))
const options = { tenantId: 7, settings: usualRules(systemClock).of(7), form: 'numeric' } as const

/** Whether a rule makes of the record what was computed by hand. */
function isRight(rule: Derived['rule'], { record, row, nets }: TotalsCase): boolean {
  const page = resource.flatten(1, [record], true)
  const derived = [{ table, declared: { ...declared, rule } }]
  const [tuple = []] = derivePage({ ...resource, derived }, page, options).get(table.name)!
  const shown = (name: string): unknown => {
    const found = tuple[columns.indexOf(name)]
    return typeof found === 'string' && typeof row[name] === 'number' ? Number(found) : found
  }
  // Computed values are the last of their lines' tuples.
  const added = Object.entries(nets).map(([kind, wanted]) =>
    (page.rows.get(`repair_order_${kind}`) ?? []).map((line) => line.slice(-(wanted[0]?.length ?? 0))),
  )
  return (
    Object.keys(row).every((name) => shown(name) === row[name]) &&
    isDeepStrictEqual(added, Object.values(nets))
  )
}

/** The first case that a rule gets wrong. */
const caught = (rule: Derived['rule']): string | undefined => cases.find((one) => !isRight(rule, one))?.name

/** The rule, after a change to one file. */
async function planted(file: string, from: string, to: string): Promise<Derived['rule']> {
  // In dist/, where vitest leaves loading to Node.
  const folder = join(scratch(), 'dist/schema')
  cpSync(join(root, 'dist/schema'), folder, { recursive: true, filter: (name) => !name.endsWith('.map') })
  writeFileSync(join(folder, '..', 'package.json'), '{"type":"module"}')
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  expect(text).toContain(from)
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
  const module = await import(pathToFileURL(join(folder, 'derived/repair_order_totals.js')).href)
  return (module as { default: Derived }).default.rule
}

const readings = [
  ...textOf('test/derived/readings.txt').matchAll(/^(\S.*)\n {2}(.*)\n {2}- (.*)\n {2}\+ ?(.*)$/gm),
].map(([, name = '', file = '', from = '', to = '']) => [name, file, from, to] as const)

it('the rule itself is right', () => {
  expect(caught(declared.rule)).toBeUndefined()
  expect(readings.length).toBeGreaterThan(50)
})

it.each(someOf(8, readings))('%s: that is caught', async (_name, file, from, to) => {
  expect(caught(await planted(file, from, to))).toBeDefined()
})
