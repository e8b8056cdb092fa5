/**
 * The scheduler on a clock that the test moves: what is planned runs once, one job at a time; what was missed is made
 * up for once; job files are read again. Jobs are stand-ins that take as long as the test says; the plan is in a
 * warehouse.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Instants } from '../../../src/engine/config/instants.js'
import { JobBook } from '../../../src/features/schedule/jobbook.js'
import { Schedule } from '../../../src/features/schedule/scheduler.js'
import { readJobRows, storeJobRow } from '../../../src/features/schedule/sql.js'
import { withJobs } from '../../../src/features/schedule/tables.js'
import { kinds } from '../../support/harness/checks.js'
import { scratch } from '../../support/harness/scratch.js'
import { open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'

const empty = { last_planned_at: null, started_at: null, finished_at: null, exit_code: null, attempts: 0 }
const minute = 60_000
const hour = 60 * minute

interface Turn {
  readonly job: string
  readonly from: string
  readonly to: string
}

/** A scheduler for a folder of jobs, and what it did. */
class World {
  readonly folder = join(scratch(), 'jobs')
  readonly clock: HandClock
  readonly turns: Turn[] = []
  readonly said: string[] = []
  /** Milliseconds that a job takes; by default a second. */
  readonly takes = new Map<string, number>()
  readonly codes = new Map<string, number>()
  timeZone = 'UTC'
  first: string | undefined
  /** What was reported when a job had ended. */
  readonly next: string[] = []
  /** How far the scheduler's clock is ahead, in microseconds. */
  ahead = 0n
  /** Called when a job starts. */
  during: (job: string) => void = () => {}
  #control = new AbortController()
  #beside = false

  constructor(
    private readonly warehouse: Warehouse,
    start: string,
  ) {
    mkdirSync(this.folder)
    this.clock = new HandClock(start)
  }

  job(name: string, schedule: string | undefined): void {
    const steps = [{ command: 'sync' }]
    writeFileSync(
      join(this.folder, `${name}.json`),
      JSON.stringify({ description: 'A job.', schedule, steps }),
    )
  }

  get now(): string {
    return new Date(Number(this.clock.micros / 1000n)).toISOString().slice(0, 19)
  }

  end(): void {
    this.#control.abort()
  }

  /** Runs the scheduler for this long, as a new process. */
  async up(milliseconds: number): Promise<void> {
    const control = new AbortController()
    this.#control = control
    const until = this.clock.micros + BigInt(milliseconds) * 1000n
    const book = new JobBook([this.folder], { environment: {}, kinds })
    const clock = {
      nowMicros: () => this.clock.nowMicros() + this.ahead,
      sleep: async (asked: number) => {
        const left = Number(until - this.clock.micros) / 1000
        await this.clock.sleep(Math.min(asked, left))
        if (this.clock.micros >= until) control.abort()
      },
    }
    const log = {
      info: (_fields: object, message: string) => void this.said.push(message),
      warn: (_fields: object, message: string) => void this.said.push(message),
    }
    const parts = { warehouse: this.warehouse, clock, timeZone: this.timeZone, book, log }
    await new Schedule({
      ...parts,
      signal: control.signal,
      first: this.first,
      ended: ({ job, exitCode, next }) => {
        this.next.push(`${job} ${exitCode} ${next?.job} ${next?.at.slice(11, 16)}`)
      },
      run: async ({ name }) => {
        const from = this.now
        if (this.#beside) this.turns.push({ job: `beside another: ${name}`, from, to: from })
        this.#beside = true
        this.during(name)
        await this.clock.sleep(this.takes.get(name) ?? 1000)
        // Longer than a scheduler that doesn't wait would take to start the next one.
        for (let i = 0; i < 5; i++) await readJobRows(this.warehouse)
        this.turns.push({ job: name, from, to: this.now })
        this.#beside = false
        return this.codes.get(name) ?? 0
      },
    }).run(book.open())
  }

  /** The starts of a job's runs, to the minute. */
  begun(job: string): string[] {
    return this.turns.filter((turn) => turn.job === job).map(({ from }) => from.slice(5, 16))
  }
}

describe.each(warehouses())('$name', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind)
  })
  afterAll(() => warehouse.close())
  beforeEach(async () => {
    await warehouse.write([withJobs(warehouse.db).deleteFrom('sync_jobs').compile()])
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
    await warehouse.write([withJobs(warehouse.db).updateTable('sync_jobs').set(died).compile()])
    world.during = () => {}
    world.turns.length = 0
    await world.up(minute)
    expect(world.begun('hourly')).toEqual(['01-01T01:00'])
    const again = { planned_at: '2026-01-01T01:00:00.000000Z', finished_at: null, attempts: 2 }
    await warehouse.write([withJobs(warehouse.db).updateTable('sync_jobs').set(again).compile()])
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
    const row = { job: 'hourly', schedule: '0 * * * *', time_zone: 'UTC' }
    await warehouse.write([
      storeJobRow(warehouse.db, { ...empty, ...row, planned_at: '2027-01-01T05:00:00.000000Z' }),
    ])
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
})

/** From evening to morning: the clocks change in between. */
const night = 8 * hour

// The plan doesn't depend on the kind of warehouse.
describe.each(warehouses().slice(0, 1))('in nights of daylight saving time', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind)
  })
  afterAll(() => warehouse.close())
  beforeEach(async () => {
    await warehouse.write([withJobs(warehouse.db).deleteFrom('sync_jobs').compile()])
  })

  it.each([
    ['America/Chicago', '2026-03-08T04:00:00Z'],
    ['America/Chicago', '2026-11-01T03:00:00Z'],
    ['Europe/Berlin', '2026-03-28T22:00:00Z'],
    ['Europe/Berlin', '2026-10-24T21:00:00Z'],
  ])('runs every planned instant: %s %s', async (zone, start) => {
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
