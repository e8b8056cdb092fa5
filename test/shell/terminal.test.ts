/** What people see on a terminal: tables that fit its width, colors, and the same text plain wherever else it goes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StatusReport } from '../../src/features/health/statusdocument.js'
import { statusText } from '../../src/features/health/words.js'
import type { JobFile } from '../../src/features/jobs/jobfiles.js'
import { jobsText } from '../../src/features/jobs/words.js'
import { planText } from '../../src/features/plan/words.js'
import type { RunPlan } from '../../src/features/plan/work.js'
import type { VerifyReport } from '../../src/features/reconcile/verifywork.js'
import { verifyText } from '../../src/features/reconcile/words.js'
import { runsText } from '../../src/features/runs/words.js'
import type { PastRun } from '../../src/features/runs/work.js'
import { runSummary } from '../../src/shell/runsummary.js'
import type { Terminal } from '../../src/shell/terminal.js'
import { layOut, widthOf } from '../../src/shell/width.js'
import { shopsync } from '../support/harness/call.js'
import { type Place, viewedPlace } from '../support/harness/place.js'
import type { RunReport } from '../support/harness/runs.js'
import { scratch } from '../support/harness/scratch.js'
import { sample } from '../support/harness/size.js'
import { type OnTerminal, onTerminal } from '../support/harness/terminal.js'

const names = {
  101: 'Main Street Auto',
  102: '東京自動車整備',
  103: "Joe's Garage 🚗 & Sons of the Northern Valley",
}

let here: Place
beforeAll(async () => {
  here = await viewedPlace({ tenants: 3 })
  here.configure({
    sync: { resources: ['notes', 'staffs', 'payment_transactions'] },
    report: { tenantNames: names },
  })
  here.sandbox.script([{ when: { tenant: [102, 103] }, fault: { kind: 'status', status: 403 } }])
  expect((await here.run('sync')).code).toBe(1)
})
afterAll(() => here.remove())

const clear = '\r\u001B[2K'

const at = (
  columns: number,
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<OnTerminal> =>
  onTerminal(words, { cwd: here.folder, columns, env: { API_SECRET: here.sandbox.secret, ...env } })

/** Each text as its command makes it, from the documents that the program prints. */
async function textsOf(): Promise<Record<string, (terminal: Terminal) => string>> {
  const told = async <T>(...words: string[]): Promise<T> => (await here.run(...words, '--json')).json<T>()
  const [status, { runs }, plan, verified, jobs, done] = await Promise.all([
    told<StatusReport>('status'),
    told<{ runs: PastRun[] }>('runs'),
    told<RunPlan>('plan'),
    told<VerifyReport>('verify'),
    told<{ jobs: JobFile[] }>('jobs', 'list'),
    told<RunReport>('sync'),
  ])
  return {
    status: (terminal) => statusText(status, { tenantNames: names, terminal }),
    runs: (terminal) => runsText(runs, false, terminal),
    plan: (terminal) => planText(plan, { views: { made: [], troubles: [] } }, terminal),
    verify: (terminal) => verifyText(verified, terminal),
    jobs: (terminal) => jobsText(jobs.jobs, terminal),
    sync: (terminal) => runSummary(done, terminal),
  }
}

test('every screen fits terminals of 60, 80, 120 and 200 columns', async () => {
  const texts = await textsOf()
  for (const [name, draw] of Object.entries(texts))
    for (const columns of [60, 80, 120, 200]) {
      const terminal = { columns, colours: true }
      const lines = stripVTControlCharacters(layOut(terminal, draw(terminal))).split('\n')
      const tooWide = lines.filter((line) => widthOf(line) > columns)
      expect(tooWide, `${name} at ${columns}`).toEqual([])
    }
})

test.each([
  [60, ['sync', '--tenant', '101', '--tenant', '102']],
  [120, ['check']],
])('on a real terminal of %s columns, too: %j', async (columns, words) => {
  const { lines, raw } = await at(columns, words)
  expect(lines.filter((line) => widthOf(line) > columns)).toEqual([])
  expect(lines.join('\n')).toMatch(/^ *✗/m)
  expect(raw).toContain('\u001B[31m✗')
})

const slow: [words: string[], first: string][] = [
  [['sync', '--tenant', '101'], 'listing the tenants'],
  [
    ['backfill', '--tenant', '101', '--from', '2026-01-01T00:00:00Z', '--to', '2026-01-02T00:00:00Z'],
    'listing',
  ],
  [['reconcile', '--tenant', '101'], 'listing the tenants'],
  [['verify', '--tenant', '101'], 'listing the tenants'],
  [['plan'], 'listing the tenants'],
  [['check'], 'listing the tenants'],
  [['report'], 'asking the warehouse, and drawing the page'],
  [['run', 'weekly-verify'], 'listing the tenants'],
  [['quarantine', 'replay'], 'looking at the quarantine'],
  [['migrate'], 'looking at what is stored'],
  [['snapshot'], 'recording where each shop stands'],
]
test.each(sample(slow, 2))(
  '%j shows its progress on a terminal, and leaves nothing of it',
  async (words, first) => {
    const { raw, lines } = await at(80, words)
    expect(raw).toContain(`${clear}${first}`)
    expect(lines.join('\n')).not.toContain(first)
  },
)

test('--quiet shows no progress', async () => {
  const { raw } = await at(80, ['plan', '--quiet'])
  expect(raw).toContain('requests')
  expect(raw).not.toContain(clear)
})

test('no color with NO_COLOR, on a dumb terminal, and in a pipe, where no line is broken either', async () => {
  const [asked, dumb, piped] = await Promise.all([
    at(80, ['status'], { NO_COLOR: '1' }),
    at(80, ['status'], { TERM: 'dumb' }),
    here.run('status'),
  ])
  for (const text of [asked.raw, dumb.raw, piped.stdout]) expect(text).not.toContain('\u001B')
  expect(asked.lines.filter((line) => widthOf(line) > 80)).toEqual([])
  const sentence =
    /^ {2}✗ tenants 102, 103: notes, payment_transactions, staffs: failed, never complete: the request answered 403, expected 200\. .*$/m
  expect(piped.stdout).toMatch(sentence)
})

test('documents are the same on a terminal', async () => {
  const { lines } = await at(60, ['status', '--json'])
  expect(JSON.parse(lines.join('\n'))).toMatchObject({ healthy: false })
})

test('what init prints for files is on whole lines, and breaks no word of the rest', async () => {
  const folder = join(
    scratch(),
    'a-folder-with-a-rather-long-name',
    'and-another-one-below-it-with-more-words',
  )
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'key.txt'), here.sandbox.secret)
  const flags = [
    '--base-url',
    here.sandbox.url,
    '--partner-id',
    here.sandbox.partnerId,
    '--secret-file',
    'key.txt',
  ]
  const { lines } = await onTerminal(['init', ...flags, '--yes'], { cwd: folder, columns: 60 })
  const words = new Set(lines.flatMap((line) => line.split(/\s+/)))
  const plain = await shopsync(['init', ...flags, '--yes', '--force'], { cwd: folder })
  const missing = plain.stdout.split(/\s+/).filter((word) => !words.has(word) && !/^(─+|[\d,.]+)$/.test(word))
  expect(missing).toEqual([])
  // Outside of files, a terminal breaks no line, unless a word is longer than the terminal is wide.
  const prose = lines.filter((line) => !/^\s*[-#]|=|:\s+"| \* \* /.test(line) && line.includes(' '))
  for (const line of prose) if (!/\S{41}/.test(line)) expect(widthOf(line), line).toBeLessThanOrEqual(60)
  const hourly = lines.find((line) => line.startsWith('0 * * * * '))
  const units = await onTerminal(['init', '--print', 'systemd'], { cwd: folder, columns: 60 })
  const started = (shown: readonly string[]) => shown.find((line) => line.startsWith('ExecStart='))
  expect([hourly, started(lines), started(units.lines)]).toEqual([
    expect.stringMatching(/^0 \* .* run hourly --quiet$/),
    expect.stringMatching(/ schedule$/),
    expect.stringMatching(/ run %i$/),
  ])
})
