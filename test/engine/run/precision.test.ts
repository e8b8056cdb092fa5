import { describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { createSandbox, template } from '../../../src/sandbox/index.js'
import { sync } from '../../support/harness/runs.js'
import { bothWarehouses, open, rowsOf } from '../../support/harness/warehouse.js'

const base = 1_767_225_600_123_456n
const styles = [
  ['micros', 1n],
  ['millis', 1000n],
  ['seconds', 1_000_000n],
] as const

describe.each(bothWarehouses())('$name', (kind) => {
  it.each(styles)('keeps the exact instants of a source that prints %s', async (style, unit) => {
    for (const offset of ['Z', '+02:00', '-05:30']) {
      const digits = { micros: 6, millis: 3, seconds: 0 }[style]
      const sandbox = await createSandbox({ data: 'none', timestamps: { digits, offset } })
      sandbox.store.addTenant({ id: 1 })
      const instants = Array.from({ length: 150 }, (_, i) => base + BigInt(i) * 777_777n)
      for (const [i, micros] of instants.entries())
        sandbox.store.put(1, 'notes', template('notes', i + 1, fromMicros(micros)))
      const warehouse = await open(kind)
      const report = await sync(sandbox, warehouse, { resources: ['notes'] })
      expect(report.cursors[0]).toMatchObject({ status: 'ok', completeness: 'proven' })
      const rows = await rowsOf(warehouse, 'notes')
      expect(rows.map((row) => row.updated_at)).toEqual(
        instants.map((micros) => fromMicros(micros - (micros % unit))),
      )
      const newest = instants.at(-1) ?? 0n
      expect(report.cursors[0]?.watermark).toBe(fromMicros(newest - (newest % unit)))
      await warehouse.close()
      await sandbox.close()
    }
  })

  it('misses no change in the second in which it looked, even if only whole seconds are printed', async () => {
    const sandbox = await createSandbox({ data: 'none', timestamps: { digits: 0 } })
    sandbox.store.addTenant({ id: 1 })
    const put = (detail: string, micros: bigint): void =>
      sandbox.store.put(1, 'notes', { ...template('notes', 1, fromMicros(micros)), description: detail })
    put('first', base)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: ['notes'], overlapMs: 0 })
    put('second', base + 200_000n)
    await sync(sandbox, warehouse, { resources: ['notes'], overlapMs: 0 })
    expect((await rowsOf(warehouse, 'notes'))[0]).toMatchObject({ description: 'second' })
    await warehouse.close()
    await sandbox.close()
  })
})
