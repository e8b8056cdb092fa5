/**
 * The scheduler on a clock that the test moves: what is planned runs once, one job at a time; what was missed is made
 * up for once; job files are read again. Jobs are stand-ins that take as long as the test says; the plan is in a
 * warehouse.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { Instants } from '../../../src/engine/config/instants.js'
import { jobsIn } from '../../support/harness/scheduler.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { PlannedWorld as World } from '../../support/world/planned.js'

const minute = 60_000
const hour = 60 * minute
/** From evening to morning. */
const night = 8 * hour

describe.each(warehouses())('$name', (kind) => {
  const one = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await one.open()
  })

  it('starts the first job at once, then follows its schedule; it reports what comes next', async () => {
    const world = new World(warehouse, '2026-01-01T00:10:00Z')
    world.first = 'hourly'
    world.job('hourly', '0 * * * *')
    world.job('nightly', '30 0 * * *')
    await world.up(2 * hour)
    expect(world.begun('hourly')).toEqual(['01-01T00:10', '01-01T01:00', '01-01T02:00'])
    expect(world.begun('nightly')).toEqual(['01-01T00:30'])
    expect(world.next.slice(0, 2)).toEqual(['hourly 0 nightly 00:30', 'nightly 0 hourly 01:00'])
  })

  it('runs each job at its instants, one at a time, in the order of their turns', async () => {
    const world = new World(warehouse, '2026-01-01T00:00:30Z')
    world.job('a-hourly', '0 * * * *')
    world.job('nightly', '30 2 * * *')
    world.job('also', '30 2 * * *')
    world.job('by-hand', undefined)
    await world.up(4 * hour)
    expect(world.begun('a-hourly')).toEqual(['01-01T01:00', '01-01T02:00', '01-01T03:00', '01-01T04:00'])
    expect(world.turns.filter(({ from }) => from.includes('T02:30')).map(({ job }) => job)).toEqual([
      'also',
      'nightly',
    ])
    expect(world.begun('by-hand')).toEqual([])
    expect(await rowsOf(warehouse, 'sync_jobs')).toMatchObject([
      {
        job: 'a-hourly',
        planned_at: '2026-01-01T05:00:00.000000Z',
        last_planned_at: '2026-01-01T04:00:00.000000Z',
        exit_code: 0,
        attempts: 0,
      },
      { job: 'also' },
      { job: 'nightly', planned_at: '2026-01-02T02:30:00.000000Z' },
    ])
  })

  it('makes up once for what was missed while another job ran and while the program was down', async () => {
    const world = new World(warehouse, '2026-01-01T00:00:30Z')
    world.job('hourly', '0 * * * *')
    world.job('long', '10 1 * * *')
    world.takes.set('long', 3.5 * hour)
    await world.up(5 * hour)
    expect(world.begun('hourly')).toEqual(['01-01T01:00', '01-01T04:40', '01-01T05:00'])
    // The program was down for ten hours: one run makes up for all, and the plan continues.
    world.clock.pass(10 * hour)
    world.turns.length = 0
    await world.up(hour)
    expect(world.begun('hourly')).toEqual(['01-01T15:00', '01-01T16:00'])
    expect(world.said).toContain('Catching up on a missed run')
  })

  it('plans before anything has run, so that a run which is missed then is made up for, too', async () => {
    const world = new World(warehouse, '2026-01-01T00:00:30Z')
    world.job('nightly', '30 2 * * *')
    await world.up(minute)
    expect(await rowsOf(warehouse, 'sync_jobs')).toMatchObject([
      { job: 'nightly', planned_at: '2026-01-01T02:30:00.000000Z', last_planned_at: null },
    ])
    world.clock.pass(4 * hour)
    await world.up(minute)
    expect(world.begun('nightly')).toEqual(['01-01T04:01'])
  })

  it("continues after a signal, and doesn't forever repeat a run that kills the process", async () => {
    const world = new World(warehouse, '2026-01-01T00:59:00Z')
    world.job('hourly', '0 * * * *')
    world.codes.set('hourly', 1)
    world.during = () => world.end()
    await world.up(hour)
    const [row] = await rowsOf(warehouse, 'sync_jobs')
    expect(row).toMatchObject({ planned_at: '2026-01-01T01:00:00.000000Z', finished_at: null, attempts: 0 })
    // Killed: nobody could record how it ended. The next process starts it again, and no process a third time.
    const died = { started_at: '2026-01-01T01:01:00.000000Z', attempts: 1 }
    await warehouse.write([jobsIn(warehouse).updateTable('sync_jobs').set(died).compile()])
    world.during = () => {}
    world.turns.length = 0
    await world.up(minute)
    expect(world.begun('hourly')).toEqual(['01-01T01:00'])
    const again = { planned_at: '2026-01-01T01:00:00.000000Z', finished_at: null, attempts: 2 }
    await warehouse.write([jobsIn(warehouse).updateTable('sync_jobs').set(again).compile()])
    world.turns.length = 0
    await world.up(minute)
    expect(world.turns).toEqual([])
    expect(world.said.at(-1)).toContain('cut short 2 times')
  })

  it('tries a job again a minute after it found the warehouse locked, but not forever', async () => {
    const world = new World(warehouse, '2026-01-01T00:59:00Z')
    world.job('hourly', '0 * * * *')
    world.codes.set('hourly', 4)
    world.during = () => {
      if (world.turns.length === 3) world.codes.delete('hourly')
    }
    await world.up(2.5 * hour)
    expect(world.begun('hourly')).toEqual([
      ...['01-01T01:00', '01-01T01:01'],
      ...['01-01T02:00', '01-01T02:01'],
      '01-01T03:00',
    ])
    // A process that ends meanwhile leaves the run to the next one.
    world.codes.set('hourly', 4)
    world.turns.length = 0
    await world.up(hour / 2 + 1.5 * minute)
    expect(await rowsOf(warehouse, 'sync_jobs')).toMatchObject([
      { planned_at: '2026-01-01T04:00:00.000000Z', attempts: 0, exit_code: 4 },
    ])
    world.codes.clear()
    world.clock.pass(10 * minute)
    await world.up(minute)
    expect(world.begun('hourly')).toEqual(['01-01T04:00', '01-01T04:10'])
  })

  it('plans again what a wrong clock has planned, while running and at the start', async () => {
    const world = new World(warehouse, '2026-01-01T00:00:30Z')
    world.job('hourly', '0 * * * *')
    world.ahead = BigInt(365 * 24 * hour) * 1000n
    world.during = () => {
      world.ahead = 0n
    }
    await world.up(4 * hour)
    expect(world.begun('hourly')).toEqual(['01-01T01:00', '01-01T02:00', '01-01T03:00', '01-01T04:00'])
    const far = { planned_at: '2027-01-01T05:00:00.000000Z' }
    await warehouse.write([jobsIn(warehouse).updateTable('sync_jobs').set(far).compile()])
    await world.up(2 * hour)
    expect(world.begun('hourly').slice(4)).toEqual(['01-01T05:00', '01-01T06:00'])
  })

  it('plans again a job that waits when the clock is set back', async () => {
    const world = new World(warehouse, '2026-01-01T00:00:30Z')
    world.job('often', '*/5 * * * *')
    world.job('hourly', '0 * * * *')
    world.ahead = BigInt(365 * 24 * hour) * 1000n
    world.during = () => {
      world.ahead = 0n
    }
    await world.up(150 * minute)
    expect(world.begun('hourly')).toEqual(['01-01T01:00', '01-01T02:00'])
  })

  it('a clock that is set back a few seconds repeats no instant', async () => {
    const world = new World(warehouse, '2026-01-01T00:59:30Z')
    world.job('hourly', '0 * * * *')
    world.during = () => {
      world.clock.micros -= 10_000_000n
      world.during = () => {}
    }
    await world.up(90 * minute)
    expect(world.turns.map(({ to }) => to.slice(11, 16))).toEqual(['00:59', '02:00'])
  })

  it('reads job files again: a broken one stays as it was and is reported once; a new schedule is planned again', async () => {
    const world = new World(warehouse, '2026-01-01T00:59:30Z')
    world.job('hourly', '0 * * * *')
    world.job('gone', '0 * * * *')
    world.during = (job) => {
      if (job !== 'hourly') return
      world.during = (next) => {
        if (next === 'fresh') world.job('fresh', '50 * * * *')
      }
      writeFileSync(join(world.folder, 'hourly.json'), '{"description": "Broken", "schedule": "99"')
      rmSync(join(world.folder, 'gone.json'))
      world.job('fresh', '*/20 * * * *')
    }
    await world.up(2 * hour)
    expect(world.begun('hourly')).toEqual(['01-01T01:00', '01-01T02:00'])
    expect(world.said.filter((message) => message.includes('stays as it was'))).toHaveLength(1)
    expect(world.begun('fresh')).toEqual(['01-01T01:20', '01-01T01:50', '01-01T02:50'])
    expect(world.begun('gone').length).toBeLessThanOrEqual(1)
    world.turns.length = 0
    world.job('hourly', '30 * * * *')
    await world.up(hour)
    expect(world.begun('hourly')).toEqual(['01-01T03:30'])
  })

  it.each([
    ['America/Chicago', '2026-03-08T04:00:00Z'],
    ['Europe/Berlin', '2026-10-24T21:00:00Z'],
  ])('runs every planned instant of a night in which the clocks change: %s %s', async (zone, start) => {
    const world = new World(warehouse, start)
    world.timeZone = zone
    const schedules = { hourly: '0 * * * *', nightly: '30 2 * * *', early: '30 1 * * *' }
    for (const [name, schedule] of Object.entries(schedules)) world.job(name, schedule)
    await world.up(night)
    for (const [name, schedule] of Object.entries(schedules)) {
      const from = Date.parse(start)
      const due = new Instants(schedule, zone).list(from, 30).filter((at) => at < from + night)
      expect([name, world.begun(name)]).toEqual([
        name,
        due.map((at) => new Date(at).toISOString().slice(5, 16)),
      ])
    }
  })
})
