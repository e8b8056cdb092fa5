/** What a message tells people to type works as printed: commands parse and run, and settings are accepted. */
import { execFileSync } from 'node:child_process'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { beforeAll, expect, test } from 'vitest'
import { parseAst } from 'vitest/node'
import { commands, commandsIn } from '../support/harness/declared.js'
import { place } from '../support/harness/place.js'
import { someOf } from '../support/harness/size.js'
import { filesIn, textOf } from '../support/harness/tree.js'

/** The texts in a file's code: its string literals, and what templates say around their placeholders. */
function textsIn(file: string): string[] {
  const texts: string[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if (Array.isArray(node)) {
      node.forEach(visit)
      return
    }
    const { type, value, quasis } = node as {
      type?: string
      value?: unknown
      quasis?: { value: { cooked: string } }[]
    }
    if (type === 'Literal' && typeof value === 'string') texts.push(value)
    if (type === 'TemplateLiteral') texts.push((quasis ?? []).map((quasi) => quasi.value.cooked).join('…'))
    Object.values(node).forEach(visit)
  }
  visit(parseAst(textOf(file), { lang: 'ts' }, file).body)
  return texts.filter((text) => /[A-Za-z]{2} [A-Za-z…]/.test(text))
}

const files = filesIn('src', '.ts').filter((file) => !/^src\/(sandbox|features\/report)\//.test(file))
const texts = files.flatMap((file) => textsIn(file).map((text) => ({ file, text })))

/** Values for what a message leaves to its reader. */
const values: Readonly<Record<string, string>> = {
  '--tenant': '101',
  '--resource': 'notes',
  '--out': 'out.html',
  '--tls-cert': 'cert.pem',
  '--tls-key': 'key.pem',
  '--webhook-url': 'https://127.0.0.1:9/webhooks',
}

const typed = texts.flatMap(({ file, text }) =>
  commandsIn(commands, text).map(({ words, unknown }) => ({
    file,
    text,
    unknown,
    words: words.map((word, i) => values[words[i - 1] ?? ''] ?? word),
  })),
)

const here = await place({ tenants: 1, repairOrders: 3 })
beforeAll(async () => {
  here.configure({ targets: { '*': 'PT6H' }, sync: { resources: ['notes', 'repair_orders', 'shops'] } })
  expect((await here.run('sync', '--quiet')).code).toBe(0)
})

test('each flag that a message names is one of its command', () => {
  expect(typed.length).toBeGreaterThan(100)
  expect(typed.filter(({ unknown }) => unknown.length > 0)).toEqual([])
})

/** They stay up, ask, or print pages: their own tests run them. */
const isRunElsewhere =
  /^(schedule|listen|sandbox|demo|worker|init|run|backfill|grant|revoke|completion|dictionary)$/

/** Others need a name behind them, which the message puts there; `events ring` needs a listener (ring.test.ts). */
const isWhole = ([name = '', ...rest]: readonly string[]): boolean =>
  !isRunElsewhere.test(name) &&
  !/^(why|copy|adopt|forget)$/.test(name) &&
  !['show', 'ring'].includes(rest[0] ?? '') &&
  rest.every((word) => word !== '…')

const lines = [...new Set(typed.flatMap(({ words }) => (isWhole(words) ? [words.join(' ')] : [])))]

/** A command with its flags, whatever their order and values are. */
const kindOf = (words: string): string => {
  const names = words.replace(/ -.*$/, '')
  const flags = words.match(/ --[\w-]+/g) ?? []
  return [names, ...flags.filter((flag) => !/ --(quiet|json|config)$/.test(flag)).sort()].join('')
}

test('each line is played in a transcript, or is an example of the help, which lines.test.ts plays', () => {
  const texts = filesIn('test/transcripts', '.txt').flatMap((file) => textOf(file).split('\n'))
  const played = texts.filter((line) => line.startsWith('$ shopsync '))
  const examples = commands.flatMap((command) => command.examples.map(([line]) => line))
  const known = new Set([...played, ...examples].map((line) => kindOf(line.replace(/^(\$ )?shopsync /, ''))))
  expect(lines.filter((line) => !known.has(kindOf(line)))).toEqual([])
})

/** `"key": {…}` of the configuration, as messages print it: with a value where they leave one open. */
const snippets = texts.flatMap(({ text }) =>
  [...text.matchAll(/"([a-zA-Z]+)": (\{(?:[^{}]|\{[^{}]*\})*\})/g)].flatMap(
    ({ 1: key = '', 2: value = '' }) => {
      const isSetting = /^(api|warehouse|events|schedule|targets|status|resources|polling)$/.test(key)
      return isSetting && !value.includes('…') ? [`{"${key}": ${value}}`] : []
    },
  ),
)

test.each(someOf(2, [...new Set(snippets)]))('%s is accepted', async (snippet) => {
  here.configure(JSON.parse(snippet))
  const { code, stderr } = await here.run('status')
  expect(stderr).not.toContain('expected')
  expect([0, 1]).toContain(code)
})

test('a backup beside what belongs to the file before: what is typed as it stands ends the error', async () => {
  const restored = await place({ tenants: 1, repairOrders: 30 })
  restored.configure({ sync: { resources: ['notes', 'repair_orders', 'shops'] } })
  expect((await restored.run('migrate')).code).toBe(0)
  const file = join(restored.folder, 'data/warehouse.db')
  const backup = readFileSync(file)
  expect((await restored.run('sync', '--quiet')).code).toBe(0)
  const open = new Database(file)
  open.exec('vacuum')
  open.pragma('wal_checkpoint(truncate)')
  open.pragma('wal_autocheckpoint = 0')
  open.exec(`update repair_orders set _synced_at = _synced_at || ' '; update sync_cursors set resource = resource;
    create table filling as select * from repair_orders; drop table filling; create table z (a); drop table z`)
  const wal = readFileSync(`${file}-wal`)
  open.close()
  writeFileSync(file, backup)
  writeFileSync(`${file}-wal`, wal)
  const refused = await restored.run('sync', '--json')
  const { hint, type } = refused.json<{ error: { hint: string; type: string[] } }>().error
  for (const line of type) {
    expect(hint).toContain(line)
    execFileSync('sh', ['-c', line], { cwd: restored.folder })
  }
  // Another file: this process may still know the damaged one.
  writeFileSync(`${file}.new`, backup)
  renameSync(`${file}.new`, file)
  expect(await restored.run('sync', '--quiet')).toMatchObject({ code: 0, stderr: '' })
})
