/** Text from the source and the database on its way to a terminal: none of its control characters get there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { visible } from '../../src/engine/base/escape.js'
import { viewedPlace } from '../support/harness/place.js'
import { harmless, painted, plainTerminal, type Terminal } from '../support/harness/shown.js'
import { atTerminal } from '../support/harness/terminal.js'

/** A one-byte CSI, an end of OSC, a bell, the same in two bytes, a change of direction, and a separator of lines. */
const evil = 'A\u009b31mB\u0090C\u009c\u0007D\u001b]0;title\u001b\\E\r\u007fF\u202eG\u2067H\u2028I'
const shown =
  'A\\u009b31mB\\u0090C\\u009c\\u0007D\\u001b]0;title\\u001b\\E\\u000d\\u007fF\\u202eG\\u2067H\\u2028I'
const control = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u
const colour: Terminal = { columns: 120, colours: true }

test('every control character becomes visible, and nothing else changes: a JSON document keeps its meaning', () => {
  expect(visible(evil)).toBe(shown)
  expect(visible('東京 🚗\n\té')).toBe('東京 🚗\n\té')
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !control.test(visible(text))))
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value, null, 2)
      expect(JSON.parse(visible(text))).toEqual(JSON.parse(text))
    }),
  )
})

test('only complete color sequences of our own are left', () => {
  const red = painted(colour, 'bad', 'failed')
  expect(harmless(colour, `x ${red} y ${evil}`)).toBe(`x ${red} y ${shown}`)
  expect(harmless(plainTerminal, 'x \u001b[31mfailed\u001b[39m')).not.toMatch(control)
  for (const other of ['\u001b[2J', '\u001b[31m', '\u001b[5mx\u001b[0m', '\u001b[31mx\u009b39m'])
    expect(harmless(colour, other)).not.toMatch(control)
})

const here = await viewedPlace({ tenants: 1 })
beforeAll(async () => {
  here.configure({
    sync: { resources: ['notes', 'shops', 'vendors'] },
    report: { tenantNames: { 101: evil } },
    alerts: { name: evil, rules: [{ command: ['sh', '-c', 'cat >> alerts; echo >> alerts'] }] },
  })
  const altered = { kind: 'alter', records: [0] } as const
  here.sandbox.script([
    { when: { resource: 'notes' }, fault: { ...altered, path: 'updated_at', to: `bad ${evil}` } },
    { when: { resource: 'shops' }, fault: { ...altered, path: 'name', to: evil } },
    { when: { resource: 'vendors' }, fault: { kind: 'status', status: 422 } },
  ])
  expect((await here.run('sync')).code).toBe(1)
})

/** What is left when our colors and the progress line are removed. */
const foreign = (text: string): string =>
  [1, 2, 22, 31, 32, 33, 39]
    .reduce((rest, code) => rest.replaceAll(`\u001b[${code}m`, ''), text)
    .replaceAll('\r\u001b[2K', '')

const lines =
  'sync; status; quarantine list; report; runs; status --json; quarantine list --json; why shops 1'
test.each([...lines.split('; '), 'verify --sample 50'])('%s, into a pipe and on a terminal', async (line) => {
  const words = line.split(' ')
  const { stdout, stderr } = await here.run(...words)
  expect(stdout + stderr).not.toMatch(control)
  // As people read it, in words: its log, too.
  const env = { API_SECRET: here.sandbox.secret }
  const { raw } = await atTerminal([...words, '--log-level', 'info'], { cwd: here.folder, columns: 100, env })
  expect(foreign(raw)).not.toMatch(control)
})

test('pages, and what a program for alerts gets and may mail as it is', async () => {
  for (const words of [['report'], ['report', '--operations']]) {
    expect((await here.run(...words, '--out', 'page.html')).code).toBe(0)
    expect(readFileSync(join(here.folder, 'page.html'), 'utf8')).not.toMatch(control)
  }
  const told = readFileSync(join(here.folder, 'alerts'), 'utf8')
  expect(told).not.toMatch(control)
  expect(told).toContain('vendors')
  expect((await here.run('status')).stdout).toContain(shown)
})
