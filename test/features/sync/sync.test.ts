/** A run as the program makes it, beyond what it says: test/transcripts/sync.txt, usage.txt and nowhere.txt have that. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { viewedPlace } from '../../support/harness/place.js'
import { spawned } from '../../support/harness/process.js'

const here = await viewedPlace({ repairOrders: 4 })
here.configure({ sync: { resources: ['notes'] } })

test('what acts after a run is told once, even if it fails itself', async () => {
  const told: (number | undefined)[] = []
  const follower = {
    afterWork: async (_: unknown, { exitCode }: { readonly exitCode: number }): Promise<void> => {
      told.push(exitCode)
      throw new Error('the follower failed')
    },
  }
  const env = { API_SECRET: here.sandbox.secret }
  const ended = await shopsync(['sync'], { cwd: here.folder, env, more: [follower] })
  expect(told).toEqual([0])
  expect(ended.stderr).toContain('the follower failed')
  expect(ended.code).not.toBe(0)
})

test("a file that isn't a database stays as it was", async () => {
  const file = join(here.folder, 'data/warehouse.db')
  const text = 'this is a shopping list, and no database at all'
  writeFileSync(file, text)
  expect(await here.run('sync', '--quiet')).toMatchObject({ code: 3, stdout: '' })
  expect(existsSync(`${file}-wal`)).toBe(false)
})

test('a reader that disconnects does no harm', async () => {
  const { code } = await spawned(['dictionary'], { during: (child) => child.stdout?.destroy() })
  expect(code).toBe(0)
})
