/** A scheduler on a clock that the test moves, with jobs that take as long as the test says. Its plan is in a warehouse. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { JobBook } from '../../../src/features/schedule/jobbook.js'
import { Schedule } from '../../../src/features/schedule/scheduler.js'
import { kinds } from '../harness/declared.js'
import { jobsIn } from '../harness/scheduler.js'
import { scratch } from '../harness/scratch.js'
import type { Warehouse } from '../harness/warehouse.js'
import { HandClock } from './clocks.js'

interface Turn {
  readonly job: string
  readonly from: string
  readonly to: string
}

/** For a folder of jobs, and what was done. */
export class PlannedWorld {
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
        for (let i = 0; i < 5; i++)
          await jobsIn(this.warehouse).selectFrom('sync_jobs').select('job').execute()
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
