import { describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses } from '../../support/harness/warehouse.js'
import { OneList } from '../../support/world/onelist.js'

const base = 1_767_225_600_123_456n
const styles = await Promise.all(
  (
    [
      [6, '+02:00'],
      [3, '-05:30'],
      [0, 'Z'],
    ] as const
  ).map(async ([digits, offset]) => {
    const sandbox = await sandboxOfFile({ data: 'none', timestamps: { digits, offset } })
    return { digits, offset, sandbox }
  }),
)

describe.each(bothWarehouses())('$name', (kind) => {
  describe.each(styles)('a source that prints $digits digits and $offset', ({ digits, sandbox }) => {
    const list = new OneList(sandbox, kind)
    const unit = 10n ** BigInt(6 - digits)

    it('is kept exactly, and no change in the second in which it looked is missed', async () => {
      await list.begin(0)
      const instants = Array.from({ length: 120 }, (_, i) => base + BigInt(i) * 777_777n)
      for (const [i, micros] of instants.entries()) list.put(i + 1, fromMicros(micros))
      const printed = instants.map((micros) => fromMicros(micros - (micros % unit)))
      const { cursor } = await list.run()
      expect(cursor).toMatchObject({ completeness: 'proven', watermark: printed.at(-1) })
      expect([...(await list.live()).values()]).toEqual(printed)
      list.put(120, fromMicros(instants.at(-1)! + 1000n), { description: 'again' })
      await list.run({ overlapMs: 0 })
      expect(await list.row(120)).toMatchObject({ description: 'again' })
    })
  })
})
