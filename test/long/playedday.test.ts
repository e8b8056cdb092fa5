/**
 * A working day of 30 shops on a simulated clock, with a window of a third of what hourly polling takes: the shipped job
 * `due` every five minutes, without events and with events of which some get lost, beside the job `hourly`. Before it, each
 * has a day of hourly polling in which the rates are learned, and 30 hours of its own.
 * And a day of three shops whose events are lost (5 %), doubled (10 %), late by up to half an hour (20 %), out of order and
 * forged: no cursor ever claims what the source contradicts.
 * PLAYED_POLICY=… plays only one of them, PLAYED_SEED=… makes it another day, PLAYED_HOURS=… sets the hours of the three
 * parts.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../support/harness/tree.js'
import { bothWarehouses } from '../support/harness/warehouse.js'
import { way } from '../support/world/lossypost.js'
import { PlayedDay } from '../support/world/playedday.js'
import {
  catchUp,
  type PlayedFigures,
  type PlayedPolicy,
  playedTargets,
  playPolicy,
} from '../support/world/playedfigures.js'

const { PLAYED_SEED = '5', PLAYED_POLICY = '', PLAYED_HOURS = '24,30,24' } = process.env
const [learning = 0, beginning = 0, measured = 0] = PLAYED_HOURS.split(',').map(Number)
const hours = [learning, beginning, measured] as const
const tenants = 30
const lists = 21
const limit = (tenants * lists) / 3
// A Monday after the time of any database: stamps are later than its clock, and a simulated one doesn't change that.
const shops = {
  tenants,
  begin: '2035-03-05T00:00:00Z',
  seed: Number(PLAYED_SEED),
  targets: playedTargets,
  limit,
  hours,
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
      if (PLAYED_POLICY && name !== PLAYED_POLICY) continue
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
    const { hourly, due, 'due, with events': hearing } = found
    if (!hourly || !due || !hearing) return
    expect(due.within).toBeGreaterThan(1.3 * hourly.within)
    expect(hearing.within).toBeGreaterThan(1.05 * due.within)
    // The bound and one round.
    for (const { longestWait } of [due, hearing]) expect(longestWait).toBeLessThanOrEqual(24.1)
  })

  it('claims nothing wrong, whatever becomes of events on their way, and is equal at the end', async () => {
    const day = await PlayedDay.open(
      { name: kindName, ...kind },
      {
        tenants: 3,
        repairOrders: 40,
        begin: '2035-03-05T00:00:00Z',
        seed: Number(PLAYED_SEED),
        checksClaims: true,
      },
    )
    try {
      day.work(measured)
      await day.listen(way.forged)
      const codes = new Set<number | null>()
      for (const hours of [Math.min(3, measured), Math.max(0, measured - 3)]) {
        await day.repeat('hourly', 60, hours, ({ code }) => void codes.add(code))
        codes.add((await day.run('nightly')).code)
      }
      // What is still on its way arrives, and what is still being looked for is found or given up.
      await day.passTo(day.clock.now + 3_600_000)
      console.log(kindName, JSON.stringify([day.tally, day.claims, day.turns]))
      expect([...codes]).toEqual([0])
      expect(await catchUp(day)).toBeGreaterThan(1000)
      expect(day.debts?.unclaimed).toEqual([])
    } finally {
      await day.close()
    }
  })
})
