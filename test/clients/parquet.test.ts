/**
 * The recipe of docs/bi.md for Parquet files, run as it is on both warehouses: each view has the same rows in the same
 * types from either.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../schema/views/index.js'
import { shopsync } from '../support/harness/call.js'
import { blocksOf } from '../support/harness/docs.js'
import { scratch } from '../support/harness/scratch.js'
import { warehouses } from '../support/harness/warehouse.js'
import { businessIn } from '../support/world/business.js'
import { client, here, lackingFor, run } from './environment.js'

interface Seen {
  readonly names: readonly [readonly string[], readonly string[]]
  readonly files: Readonly<
    Record<
      string,
      {
        readonly rows: number
        readonly types: readonly [unknown, unknown]
        readonly only: readonly [number, number]
      }
    >
  >
}

const lacking = await lackingFor('The recipe for Parquet files')

const names = views.map(({ name }) => name)
/** `changes` and `changes_by_tenant` have the instants of two syncs. */
const compared = names.filter((name) => !name.startsWith('changes'))

describe.skipIf(lacking !== undefined)('Parquet files', () => {
  let seen: Seen
  beforeAll(async () => {
    const recipe = blocksOf('docs/bi.md').find(({ text }) => text.includes('format parquet'))
    const [first, second] = recipe!.text.split('\n').filter((line) => line.includes('kind, place, schema = '))
    const folders: string[] = []
    for (const kind of warehouses()) {
      const { address, warehouse } = await businessIn(kind)
      const folder = join(scratch(), kind.name)
      mkdirSync(folder)
      const isLite = kind.name === 'sqlite'
      const place = isLite ? address.url.replace('sqlite:', '') : address.url
      const schema = isLite ? 'main' : warehouse.dialect.views().where
      await warehouse.close()
      const { stdout } = await shopsync(['dictionary', '--format', 'json'])
      writeFileSync(join(folder, 'dictionary.json'), stdout)
      const line = isLite ? first : second?.replace('# ', '')
      const [names, example] = (line ?? '').split(' = ')
      expect(JSON.parse(`[${example}]`)).toEqual([kind.name, expect.any(String), expect.any(String)])
      const script = recipe!.text
        .replace(`${second}\n`, '')
        .replace(
          first ?? '',
          `${names} = ${[kind.name, place, schema].map((word) => JSON.stringify(word)).join(', ')}`,
        )
      writeFileSync(join(folder, 'recipe.py'), script)
      await run(client('python'), ['recipe.py'], { cwd: folder })
      folders.push(folder)
    }
    const { stdout } = await run(client('python'), [here('parquet.py'), ...folders], { maxBuffer: 1e8 })
    seen = JSON.parse(stdout) as Seen
  })

  it('are made of every view', () => {
    const files = names.map((name) => `${name}.parquet`).sort()
    expect(seen.names).toEqual([files, files])
  })

  it.each(compared)('have the same rows of %s from either warehouse', (name) => {
    const { rows = 0, types = [], only } = seen.files[`${name}.parquet`] ?? {}
    expect(types[1]).toEqual(types[0])
    expect(only).toEqual([0, 0])
    if (name !== 'dim_vehicles') expect(rows).toBeGreaterThan(0)
  })
})
