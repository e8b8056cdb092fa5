/** The stories of schedule.txt: the scheduler's own clock and jobs are stand-ins, its plan is in a warehouse. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { kept, rowsOf } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { Planned } from '../../support/world/planned.js'
import { Steps, storyTests } from '../../support/world/stories.js'

const minute = 60_000

const steps: Steps<Planned> = new Steps<Planned>({
  'from WORD': (its, start) => {
    its.clock = new HandClock(start!)
  },
  'zone WORD': (its, zone) => {
    its.timeZone = zone!
  },
  'first WORD': (its, job) => {
    its.first = job
  },
  'job (\\S+?)(?:: REST)?': (its, name, schedule) =>
    its.write(name!, JSON.stringify({ description: 'A job.', schedule, steps: [{ command: 'sync' }] })),
  'WORD is broken': (its, name) => its.write(name!, '{"description": "Broken", "schedule": "99"'),
  'WORD is removed': (its, name) => rmSync(join(its.folder, `${name}.json`)),
  'WORD takes N minutes': (its, name, minutes) => void its.takes.set(name!, Number(minutes) * minute),
  'WORD ends with N': (its, name, code) => void its.codes.set(name!, Number(code)),
  '(?:at start|when) WORD(?: starts)?, REST': (its, which, rest) =>
    void its.during.set(which!, () => {
      for (const step of rest!.split(' and ')) void steps.one(its, step)
    }),
  'a signal comes': (its) => its.end(),
  'our clock is N days ahead': (its, days) => {
    its.ahead = BigInt(days!) * 86_400_000_000n
  },
  'the clock goes back N seconds': (its, seconds) => {
    its.clock.micros -= BigInt(seconds!) * 1_000_000n
  },
  // What a process leaves that was killed in its only run, or in the same one as the process before.
  'killed (once|twice)': (its, times) =>
    its.set({
      planned_at: '2026-01-01T01:00:00.000000Z',
      started_at: '2026-01-01T01:01:00.000000Z',
      finished_at: null,
      attempts: times === 'once' ? 1 : 2,
    }),
  'planned for WORD': (its, planned_at) => its.set({ planned_at }),
  'down N minutes': (its, minutes) => its.clock.pass(Number(minutes) * minute),
  'up N (minute|second)s?': (its, n, unit) => its.up(Number(n) * (unit === 'minute' ? minute : 1000)),
  next: (its) => its.next.slice(0, 2).join('; '),
  said: (its) => its.said.filter((message) => !message.startsWith('Job ')).join('; '),
  plan: async ({ warehouse }) => {
    const rows = await rowsOf(warehouse, 'sync_jobs')
    const jobs = rows.map((row) => {
      const [at, last] = [row.planned_at, row.last_planned_at ?? 'never'].map((time) =>
        String(time).slice(0, 16),
      )
      const how = row.finished_at === null ? 'not finished' : `exit ${row.exit_code}`
      return `${row.job} at ${at}, last ${last}, ${how}, ${row.attempts} attempts`
    })
    return jobs.join('; ')
  },
})

storyTests('test/features/schedule/schedule.txt', steps, (kind) => {
  const stock = kept(kind)
  return async () => new Planned(await stock.open())
})
