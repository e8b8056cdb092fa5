/** A scheduler on a clock that the test moves, with jobs that take as long as the test says. Its plan is in a warehouse. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { JobBook } from '../../../src/features/schedule/jobbook.js'
import { Schedule } from '../../../src/features/schedule/scheduler.js'
import { kinds } from '../harness/declared.js'
import { jobsIn } from '../harness/scheduler.js'
import { scratch } from '../harness/scratch.js'
import { rowsOf, type Warehouse } from '../harness/warehouse.js'
import { HandClock } from './clocks.js'

/** A scheduler, and what it was seen to do since that was last told. */
export class Planned {
  clock = new HandClock('2026-01-01T00:00:00Z')
  readonly folder = join(scratch(), 'jobs')
  /** Milliseconds that a job takes; by default a second. */
  readonly takes = new Map<string, number>()
  readonly codes = new Map<string, number>()
  timeZone = 'UTC'
  first: string | undefined
  /** How far the scheduler's clock is ahead, in microseconds. */
  ahead = 0n
  /** What happens when a job starts, each once: by its name, or by the number of the start. */
  readonly during = new Map<string, () => unknown>()
  starts: string[] = []
  readonly said: string[] = []
  next: string[] = []
  #count = 0
  #isBusy = false
  #control = new AbortController()

  constructor(readonly warehouse: Warehouse) {
    mkdirSync(this.folder)
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, `${name}.json`), text)
  }

  end(): void {
    this.#control.abort()
  }

  async #job(name: string): Promise<number> {
    const at = new Date(Number(this.clock.micros / 1000n)).toISOString().slice(5, 16)
    this.starts.push(this.#isBusy ? `${at} ${name} beside another` : `${at} ${name}`)
    this.#isBusy = true
    for (const when of [name, String(++this.#count)]) {
      const happens = this.during.get(when)
      this.during.delete(when)
      happens?.()
    }
    await this.clock.sleep(this.takes.get(name) ?? 1000)
    // Longer than a scheduler that doesn't wait would take to start the next one.
    for (let i = 0; i < 5; i++) await rowsOf(this.warehouse, 'sync_jobs')
    this.#isBusy = false
    return this.codes.get(name) ?? 0
  }

  /** Runs the scheduler for this long, as a new process. */
  async up(milliseconds: number): Promise<string> {
    const control = new AbortController()
    this.#control = control
    const until = this.clock.micros + BigInt(milliseconds) * 1000n
    const book = new JobBook([this.folder], { environment: {}, kinds })
    const clock = {
      nowMicros: () => this.clock.nowMicros() + this.ahead,
      sleep: async (asked: number) => {
        await this.clock.sleep(Math.min(asked, Number(until - this.clock.micros) / 1000))
        if (this.clock.micros >= until) control.abort()
      },
    }
    const say = (_fields: object, message: string) => void this.said.push(message)
    const parts = { warehouse: this.warehouse, clock, timeZone: this.timeZone, book }
    await new Schedule({
      ...parts,
      log: { info: say, warn: say },
      signal: control.signal,
      first: this.first,
      ended: ({ job, exitCode, next }) => {
        this.next.push(`${job} ended with ${exitCode}, then ${next?.job} at ${next?.at.slice(11, 16)}`)
      },
      run: ({ name }) => this.#job(name),
    }).run(book.open())
    return this.starts.splice(0).join(', ') || 'nothing'
  }

  async set(columns: object): Promise<void> {
    await this.warehouse.write([jobsIn(this.warehouse).updateTable('sync_jobs').set(columns).compile()])
  }
}
