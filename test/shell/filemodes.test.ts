/** Files with customer data are only for their owner, and stay as open as somebody made them. */
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { place } from '../support/harness/place.js'

test('warehouse, copy and report', async () => {
  const here = await place({ tenants: 1, repairOrders: 1 })
  here.configure({ sync: { resources: ['notes'] } })
  const modeOf = (name: string): number => statSync(join(here.folder, name)).mode & 0o777
  for (const words of [['sync'], ['report'], ['copy', '--to', 'sqlite:./copy.db']])
    expect((await here.run(...words)).code).toBe(0)
  expect(['data/warehouse.db', 'copy.db', 'report.html'].map(modeOf)).toEqual([0o600, 0o600, 0o600])
  chmodSync(join(here.folder, 'report.html'), 0o644)
  expect((await here.run('report')).code).toBe(0)
  expect(modeOf('report.html')).toBe(0o644)
  await here.remove()
})
