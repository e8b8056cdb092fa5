/**
 * A working day of 30 shops on a simulated clock, with a window of a third of what hourly polling takes: the shipped job
 * `due` every five minutes, beside the job `hourly`. Each has two days before it in which the rates are learned.
 * PLAYED_POLICY=… plays one of them ('due, with events' too: events that get lost, and a listener), PLAYED_SEED=… makes it
 * another day.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type PlayedFigures, type PlayedPolicy, playedTargets, playPolicy } from '../support/playedfigures.js'
import { root } from '../support/tree.js'
import { bothWarehouses } from '../support/warehouse.js'

const { PLAYED_SEED = '5', PLAYED_POLICY = '' } = process.env
const tenants = 30
const lists = 21
const limit = (tenants * lists) / 3
const shops = {
  ...{ tenants, begin: '2026-03-02T00:00:00Z', seed: Number(PLAYED_SEED) },
  ...{ targets: playedTargets, limit, hours: [48, 6, 24] as const },
}
const policies: Readonly<Record<string, PlayedPolicy>> = {
  hourly: { ...shops, job: 'hourly', every: 60 },
  due: { ...shops, job: 'due', every: 5 },
  'due, with events': { ...shops, job: 'due', every: 5, hears: true },
}

describe.each(bothWarehouses())('$name', ({ name: kindName, ...kind }) => {
  it('brings more in time than hourly polling does, with no more requests, and loses nothing', async () => {
    const found: Record<string, PlayedFigures> = {}
    for (const [name, policy] of Object.entries(policies)) {
      if (PLAYED_POLICY ? name !== PLAYED_POLICY : policy.hears) continue
      found[name] = await playPolicy({ name: kindName, ...kind }, policy)
      console.log(kindName, name, JSON.stringify(found[name]))
    }
    writeFileSync(join(root, `dist/playedday-${kindName}.json`), JSON.stringify(found, null, 2))
    for (const { exitCodes, told, withinSeen, proven, requests, cells } of Object.values(found)) {
      expect(exitCodes).toEqual([0])
      expect(Math.abs(told - withinSeen)).toBeLessThan(0.03)
      expect(proven).toBeGreaterThan(0.99)
      expect(requests).toBeLessThanOrEqual(24 * limit)
      expect(cells).toBeGreaterThan(100_000)
    }
    const { hourly, due } = found
    if (!hourly || !due) return
    expect(due.within).toBeGreaterThan(1.3 * hourly.within)
    expect(due.requests).toBeLessThanOrEqual(1.02 * hourly.requests)
    expect(due.longestWait).toBeLessThanOrEqual(25)
  })
})
