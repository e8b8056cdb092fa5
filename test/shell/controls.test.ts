/** Text from the source and the database on its way to a terminal: none of its control characters get there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { visible } from '../../src/engine/base/escape.js'
import { createLog } from '../../src/shell/log.js'
import { harmless, painted, plainTerminal, type Terminal } from '../../src/shell/terminal.js'
import { table } from '../../src/shell/texttable.js'
import { type Place, viewedPlace } from '../support/harness/place.js'
import { sample } from '../support/harness/size.js'
import { type OnTerminal, onTerminal } from '../support/harness/terminal.js'

/** A one-byte CSI, an end of OSC, a bell, the same in two bytes, a change of direction, and a separator of lines. */
const evil = 'A\u009b31mB\u0090C\u009c\u0007D\u001b]0;title\u001b\\E\r\u007fF\u202eG\u2067H\u2028I'
const shown =
  'A\\u009b31mB\\u0090C\\u009c\\u0007D\\u001b]0;title\\u001b\\E\\u000d\\u007fF\\u202eG\\u2067H\\u2028I'
const control = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u
const colour: Terminal = { columns: 120, colours: true }

test('every control character becomes visible, and nothing else changes', () => {
  expect(visible(evil)).toBe(shown)
  expect(visible('東京 🚗\n\té')).toBe('東京 🚗\n\té')
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !control.test(visible(text))))
})

test('a JSON document keeps its meaning', () => {
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

test('a cell keeps its line and its color', () => {
  const drawn = table(['name', { title: 'state', ink: () => 'bad' }], [[evil, 'bad\u009b']], colour)
  expect(harmless(colour, drawn)).toContain(shown)
  expect(harmless(colour, drawn)).toContain('\u001b[31mbad\\u009b\u001b[39m')
})

test.each([true, false])('a line of the log, for people: %s', (text) => {
  let written = ''
  const log = createLog({
    ...{ level: 'info', text, secrets: [] },
    write: (line) => {
      written += line
    },
  })
  log.warn({ field: evil }, evil)
  expect(written).not.toMatch(control)
  expect(written).toContain('A\\u009b31mB')
})

let here: Place
beforeAll(async () => {
  here = await viewedPlace({ tenants: 1 })
  here.configure({
    sync: { resources: ['notes', 'shops', 'vendors'] },
    report: { tenantNames: { 101: evil } },
    alerts: { name: evil, rules: [{ command: ['sh', '-c', 'cat >> alerts; echo >> alerts'] }] },
  })
  here.sandbox.script([
    {
      when: { resource: 'notes' },
      fault: { kind: 'alter', path: 'updated_at', to: `bad ${evil}`, records: [0] },
    },
    { when: { resource: 'shops' }, fault: { kind: 'alter', path: 'name', to: evil, records: [0] } },
    { when: { resource: 'vendors' }, fault: { kind: 'status', status: 422 } },
  ])
  expect((await here.run('sync')).code).toBe(1)
})
afterAll(() => here.remove())

const env = (): Record<string, string> => ({ API_SECRET: here.sandbox.secret })
const atTerminal = (words: readonly string[]): Promise<OnTerminal> =>
  onTerminal(words, { cwd: here.folder, columns: 100, env: env() })

/** What is left when our colors, the progress line and a terminal's line ends are removed. */
const foreign = (text: string): string =>
  [1, 2, 22, 31, 32, 33, 39]
    .reduce((rest, code) => rest.replaceAll(`\u001b[${code}m`, ''), text)
    .replaceAll('\r\u001b[2K', '')
    .replaceAll('\r\n', '\n')

const commands = [
  ...[['sync'], ['status'], ['quarantine', 'list'], ['report'], ['status', '--json'], ['runs']],
  ...[
    ['quarantine', 'list', '--json'],
    ['why', 'shops', '1'],
    ['verify', '--sample', '50'],
  ],
]

test.each(commands.map((words) => [words]))('%j', async (words) => {
  const { stdout, stderr } = await here.run(...words)
  expect(stdout + stderr).not.toMatch(control)
})

test.each(sample(commands, 2).map((words) => [words]))('%j on a real terminal', async (words) => {
  const { raw } = await atTerminal(words)
  expect(foreign(raw)).not.toMatch(control)
})

test.each([[['report']], [['report', '--operations']]])('the page of %j', async (words) => {
  expect((await here.run(...words, '--out', 'page.html')).code).toBe(0)
  expect(readFileSync(join(here.folder, 'page.html'), 'utf8')).not.toMatch(control)
})

test('what a program for alerts gets, and may mail as it is', async () => {
  const told = readFileSync(join(here.folder, 'alerts'), 'utf8')
  expect(told).not.toMatch(control)
  expect(told).toContain('vendors')
})

test('the name is still there', async () => {
  expect((await here.run('status')).stdout).toContain(shown)
})
