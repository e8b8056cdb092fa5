/** What people see on a terminal: lines that fit, colors, progress. What its tables look like: test/transcripts/terminal.txt. */
import { beforeAll, expect, test } from 'vitest'
import { viewedPlace } from '../support/harness/place.js'
import { widthOf } from '../support/harness/shown.js'
import { atTerminal, onTerminal } from '../support/harness/terminal.js'

const here = await viewedPlace({ tenants: 3 })
beforeAll(async () => {
  here.configure({
    sync: { resources: ['notes', 'staffs', 'payment_transactions'] },
    report: { tenantNames: { 102: '東京自動車整備', 103: "Joe's Garage 🚗 & Sons of the Northern Valley" } },
  })
  here.sandbox.script([{ when: { tenant: [102, 103] }, fault: { kind: 'status', status: 403 } }])
  expect((await here.run('sync')).code).toBe(1)
})

const clear = '\r\u001B[2K'
const options = (columns: number, env: Record<string, string> = {}) => ({
  cwd: here.folder,
  columns,
  env: { API_SECRET: here.sandbox.secret, ...env },
})
const at = (columns: number, words: string, env?: Record<string, string>) =>
  atTerminal(words.split(' '), options(columns, env))

test('on a real terminal, too, with colors', async () => {
  const { lines, raw } = await onTerminal(['sync', '--tenant', '101', '--tenant', '102'], options(60))
  expect(lines.filter((line) => widthOf(line) > 60)).toEqual([])
  expect(raw).toContain('\u001B[31m✗')
  expect(raw).toContain(`${clear}listing the tenants`)
})

const [from, to] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
test.each([
  ['status', undefined],
  ['runs', undefined],
  ['jobs list', undefined],
  ['sync', 'listing the tenants'],
  [`backfill --tenant 101 --from ${from} --to ${to}`, 'listing'],
  ['reconcile --tenant 101', 'listing the tenants'],
  ['verify', 'listing the tenants'],
  ['plan', 'listing the tenants'],
  ['check', 'listing the tenants'],
  ['report', 'asking the warehouse, and drawing the page'],
  ['run weekly-verify', 'listing the tenants'],
  ['quarantine replay', 'looking at the quarantine'],
  ['migrate', 'looking at what is stored'],
  ['snapshot', 'recording where each shop stands'],
])(
  '%s fits, shows its progress within a line of the terminal, and leaves nothing of it',
  async (words, first) => {
    const { raw, lines } = await at(60, words)
    expect(lines.filter((line) => widthOf(line) > 60)).toEqual([])
    const drawn = raw.split(clear).slice(1, -1)
    expect(drawn.filter((text) => !text.includes('\n') && widthOf(text) >= 60)).toEqual([])
    if (first === undefined) return
    expect(raw).toContain(`${clear}${first}`)
    expect(lines.join('\n')).not.toContain(first)
  },
)

test('no progress with --quiet, no color with NO_COLOR, on a dumb terminal, and in a pipe', async () => {
  expect((await at(80, 'plan --quiet')).raw).not.toContain(clear)
  expect((await at(80, 'status')).raw).toContain('\u001B[31m')
  const [asked, dumb, piped] = await Promise.all([
    at(80, 'status', { NO_COLOR: '1' }),
    at(80, 'status', { TERM: 'dumb' }),
    here.run('status'),
  ])
  for (const text of [asked.raw, dumb.raw, piped.stdout]) expect(text).not.toContain('\u001B')
})

test('a file that is printed keeps its lines, however narrow the terminal', async () => {
  const { lines } = await onTerminal(['init', '--print', 'systemd'], options(60))
  expect(lines).toContainEqual(expect.stringMatching(/^ExecStart=.* run %i$/))
})
