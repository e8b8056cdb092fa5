/** Stamps before 1970, such as .NET's 0001-01-01, are valid: a first load requests them, and comparisons count them. */
import { describe, expect, it } from 'vitest'
import { Skip } from '../../../src/engine/base/errors.js'
import { beginnings, type RunOptions } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { timeOf } from '../../support/world/notes.js'
import { OneList, proven, unproven } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()
const dotnet = '0001-01-01T00:00:00.000000Z'
const says422 = { reason: 'refused', status: 422 } as const

/** An API that can't take times before a given year; without a time it shows everything. */
const refusing = (
  first: string,
  refused: string[] = [],
  how: ConstructorParameters<typeof Skip>[1] = says422,
) => ({
  around: ((source) =>
    new Between(source, async ({ updatedAfter }, ask) => {
      if (updatedAfter === '' || updatedAfter >= first) return ask()
      refused.push(updatedAfter)
      throw new Skip('The API did not answer with the list', how)
    })) satisfies RunOptions['around'],
})

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  const list = new OneList(sandbox, kind)
  const asked = (): (string | null)[] =>
    sandbox.requests.filter(({ resource }) => resource === 'notes').map((line) => line.updated_after)
  const rememberedBeginning = async (): Promise<unknown> =>
    (await rowsOf(list.warehouse, 'sync_source'))[0]?.lists_from ?? null
  const nothing = { lacks: null } as const

  /** So many records of this year, and two from before 1970. */
  async function begin(count = 3): Promise<void> {
    await list.begin(count)
    list.put(5001, dotnet)
    list.put(5002, '1950-05-05T05:05:05.000000Z')
  }

  it('a first load fetches them without an extra request', async () => {
    await begin()
    await list.sync({ completeness: 'proven', requests: 1 })
    expect(asked()).toEqual(['0001-01-01T00:00:00+12:00'])
    expect(await list.isEqual()).toBe(true)
  })

  test('a list with nothing else is walked, resumed from its watermark and reconciled', async () => {
    await list.begin(0)
    list.put(1, dotnet)
    for (let run = 0; run < 2; run++) await list.sync({ status: 'ok', watermark: dotnet })
    await list.reconcile({ status: 'ok', rows_deleted: 0 })
  })

  test.each([false, true])(
    'reconcile counts them, and finds one that is missing (full: %s)',
    async (full) => {
      await begin(1000)
      await list.sync({})
      await list.reconcile({ reconciled: { source: 1002, warehouse: 1002, stored: 0 } }, { full })
      // `reconcile --full` compares with the total without updated_after.
      expect(asked().filter((after) => after === null)).toHaveLength(full ? 1 : 0)
      await list.lose(5001)
      await list.reconcile({ status: 'ok', reconciled: { stored: 1 } }, { full })
    },
  )

  test.each([
    ['refuses the offset', '0001-01-01T00:00:00Z', says422, beginnings.slice(0, 1)],
    ['refuses the year 1', '1970-01-01T00:00:00Z', says422, beginnings.slice(0, 2)],
    // The list, then one record from each beginning, and from the first one again: it may have been an outage.
    ...(
      [
        ['calls the request for it bad', { reason: 'refused', status: 400 }],
        ['fails for it', { reason: 'failed', status: 500 }],
        ['closes the connection for it', { reason: 'failed' }],
      ] as const
    ).map(
      ([name, how]) => [name, '1970-01-01T00:00:00Z', how, [0, 0, 1, 0].map((at) => beginnings[at])] as const,
    ),
  ] as const)('an API that %s is asked from %s, which is remembered', async (_, first, how, tries) => {
    await begin()
    const refused: string[] = []
    const around = refusing(first, refused, how)
    await list.sync({ status: 'ok' }, { ...around, ...nothing })
    expect(refused).toEqual(tries)
    expect(await rememberedBeginning()).toBe(first)
    await list.full({}, { ...around, ...nothing })
    expect(refused).toHaveLength(tries.length)
  })

  test('records that no updated_after shows are read without it by reconcile --full, which reports that', async () => {
    await begin(150)
    const around = refusing('1970-01-01T00:00:00Z')
    const told = { ...unproven, reason: 'before_all', watermark: timeOf(150) }
    await list.sync({ status: 'ok', watermark: timeOf(150) }, { ...around, lacks: [5001, 5002] })
    await list.verify({ status: 'failed', missing: 2, reason: 'before_all' }, { ...around, full: true })
    const reconciled = { stored: 2, source: 152, warehouse: 152 }
    const { error } = await list.reconcile({ ...told, reconciled }, { ...around, full: true })
    expect(error).toContain('counts 2 records more without updated_after')
    // From then on, every comparison reads the list this way. Otherwise the two would be surplus rows.
    list.remove(70)
    const listed = { rows_deleted: 1, reconciled: { method: 'listing', source: 151 } }
    await list.reconcile({ ...told, ...listed }, around)
    await list.verify({ missing: 0, extra: 0, reason: 'before_all' }, { ...around, full: true })
    // A sync works as before.
    await list.sync({ status: 'ok', requests: 1 }, around)
    list.remove(5001, 5002)
    await list.reconcile({ ...proven, rows_deleted: 2 }, { ...around, full: true })
    await list.remembers(null)
  })

  test.each([1, 2, 3])('an outage of %s requests loses no record of before 1970', async (requests) => {
    await begin()
    let count = 0
    const around: RunOptions['around'] = (source) =>
      new Between(source, async (_, ask) => {
        if (++count <= requests) throw new Skip('It did not answer', { reason: 'failed', status: 502 })
        return ask()
      })
    await list.sync({}, { around, ...nothing })
    expect(await rememberedBeginning()).toBeNull()
    await list.sync({ status: 'ok' })
  })

  test('a list that fails once others were read is not asked from later beginnings', async () => {
    await begin()
    await list.sync({})
    const refused: string[] = []
    await list.full({}, refusing('9', refused, { reason: 'failed', status: 503 }))
    expect(new Set(refused)).toEqual(new Set([beginnings[0]]))
  })

  test.each([says422, { reason: 'refused', status: 400 }, { reason: 'failed', status: 503 }] as const)(
    'an API that refuses every list fails its cursor: %o',
    async (how) => {
      await begin()
      const refused: string[] = []
      await list.sync({ status: 'failed' }, { ...refusing('9', refused, how), ...nothing })
      expect(new Set(refused)).toEqual(new Set(beginnings))
    },
  )
})
