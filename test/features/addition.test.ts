/**
 * A feature is one folder: with it, and a line in main.ts, the program has its command, its settings and its table, and
 * every list of features includes it. Runs a copy of the project.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import BetterSqlite3 from 'better-sqlite3'
import { beforeAll, expect, it } from 'vitest'
import { scratch } from '../support/scratch.js'
import { root } from '../support/tree.js'

const project = scratch()
const patience = 240_000

const files = {
  'feature.ts': `import type { Feature } from '../../shell/command.js'
import { greetCommand } from './command.js'

export const greetings: Feature = {
  command: greetCommand,
  tables: async () => (await import('./tables.js')).greetingTables,
  settings: async () => (await import('./settings.js')).greetingSection,
}
`,
  'command.ts': `import type { Command } from '../../shell/command.js'

export const greetCommand: Command = {
  name: 'greet',
  summary: 'greet somebody, and remember how often',
  examples: [['shopsync greet Ada', 'greets Ada']],
  argument: { name: 'who', description: 'who is greeted' },
  run: async (invocation) => {
    const [{ withContext }, { greet }, { greetingText }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('./words.js'),
    ])
    return withContext(invocation, async (context) => {
      const greeting = await greet(context, invocation.argument ?? '')
      await invocation.out.answer(greeting, greetingText(greeting))
      return 0
    })
  },
}
`,
  'words.ts': `import type { Greeting } from './work.js'

export const greetingText = ({ word, who, times }: Greeting): string => \`\${word}, \${who} (\${times})\`
`,
  'settings.ts': `import { section, textLeaf } from '../../engine/config/leaf.js'
import { configSection, settingsOf } from '../../engine/config/section.js'

export const greetingSection = configSection({
  name: 'greetings',
  shape: section({ word: textLeaf('a word').default('Hello').describe('The word that greets.') }, 'Greetings.'),
})

export const greetingSettings = settingsOf(greetingSection)
`,
  'tables.ts': `import { integer, text } from '../../../schema/resource.js'
import { define } from '../../engine/model/statetable.js'

export const greetingTables = {
  sync_greetings: define({
    doc: 'Who was greeted.',
    key: ['who'],
    fields: { who: text('Who.'), times: integer('How often.') },
  }),
} as const
`,
  'work.ts': `import type { RowsOf } from '../../engine/model/statetable.js'
import { openLease } from '../../engine/warehouse/openlease.js'
import type { CommandContext } from '../../shell/command.js'
import { greetingSettings } from './settings.js'
import type { greetingTables } from './tables.js'

export interface Greeting {
  readonly word: string
  readonly who: string
  readonly times: number
}

export async function greet(context: CommandContext, who: string): Promise<Greeting> {
  const { clock, config, invocation } = context
  const warehouse = await context.readyWarehouse()
  await using lease = await openLease({ warehouse, clock, signal: invocation.signals.signal }, 'greet')
  const db = lease.warehouse.db.withTables<RowsOf<typeof greetingTables>>()
  const before = await db.selectFrom('sync_greetings').select('times').where('who', '=', who).executeTakeFirst()
  const times = Number(before?.times ?? 0) + 1
  await lease.warehouse.write([
    db
      .insertInto('sync_greetings')
      .values({ who, times })
      .onConflict((conflict) => conflict.column('who').doUpdateSet({ times }))
      .compile(),
  ])
  return { word: greetingSettings(config).word, who, times }
}
`,
}

const run = (program: string, words: readonly string[]) =>
  promisify(execFile)(program, [...words], { cwd: project, maxBuffer: 1e8 })

interface Answer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The copy's compiled program. */
const shopsync = (...words: string[]): Promise<Answer> =>
  run('node', ['dist/src/entry.js', ...words]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (failed: Answer) => failed,
  )

const configure = (more: object = {}): void =>
  writeFileSync(
    join(project, 'config.json'),
    JSON.stringify({
      api: { baseUrl: 'http://127.0.0.1:1', partnerId: '1', secret: 'x' },
      warehouse: { url: 'sqlite:warehouse.db' },
      ...more,
    }),
    { mode: 0o600 },
  )

const read = (file: string): string => readFileSync(join(project, file), 'utf8')

beforeAll(async () => {
  for (const part of ['docs', 'jobs', 'schema', 'src', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(project, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  mkdirSync(join(project, 'src/features/greetings'))
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(project, 'src/features/greetings', name), text)
  const main = read('src/main.ts')
  const listed = `import { greetings } from './features/greetings/feature.js'\n${main.replace(/\n\]\s*$/, '\n  greetings,\n]\n')}`
  writeFileSync(join(project, 'src/main.ts'), listed)
  // Like `npm run build`, but without the bundle, which contains whatever exists.
  for (const script of [
    ['schema/registry.mjs'],
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
    ['dist/src/artifacts.js'],
  ])
    await run('node', script)
  configure()
}, patience)

it('its command has help, works, and keeps its table in the warehouse', {
  timeout: patience,
}, async () => {
  expect((await shopsync('--help')).stdout).toMatch(/^ {2}greet <who> +greet somebody/m)
  expect((await shopsync('greet', 'Ada')).stdout).toBe('Hello, Ada (1)\n')
  const { stdout } = await shopsync('greet', 'Ada', '--json')
  expect(JSON.parse(stdout)).toEqual({ word: 'Hello', who: 'Ada', times: 2 })
  const db = new BetterSqlite3(join(project, 'warehouse.db'), { readonly: true })
  expect(db.prepare('select * from sync_greetings').all()).toEqual([{ who: 'Ada', times: 2 }])
  db.close()
})

it('its configuration section is accepted, and checked with the others', {
  timeout: patience,
}, async () => {
  configure({ greetings: { word: 'Howdy' } })
  expect((await shopsync('greet', 'Bob')).stdout).toBe('Howdy, Bob (1)\n')
  configure({ greetings: { word: 7 } })
  const { code, stderr } = await shopsync('greet', 'Bob')
  expect([code, stderr]).toEqual([2, expect.stringMatching(/greetings\.word[\s\S]*expected a word/)])
  configure({ greeting: {} })
  expect((await shopsync('greet', 'Bob')).stderr).toContain('greetings')
})

it('the generated references include it', () => {
  expect(read('schema/config.schema.json')).toContain('The word that greets.')
  expect(read('docs/configuration.md')).toContain('`greetings.word`')
  expect(read('docs/commands.md')).toContain('[`shopsync greet`](')
  expect(read('docs/commands.md') + read('docs/commands-2.md')).toContain('## shopsync greet')
  expect(read('schema/dictionary/README.md')).toContain('sync_greetings')
})
