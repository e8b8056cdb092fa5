/** What every bench needs: its options, a folder, the program in it, and tables in Markdown. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import type { Warehouse } from '../src/engine/warehouse/warehouse.js'
import { Inbox } from '../src/features/events/inbox.js'
import { Program, program } from '../test/support/harness/process.js'
import { known } from './known.js'
import { schema } from './warehouse.js'

type Value = string | number | boolean
type Widened<T> = T extends number ? number : T extends boolean ? boolean : string

/** The flags of a bench, by their defaults. */
export function options<T extends Readonly<Record<string, Value>>>(
  defaults: T,
): { readonly [K in keyof T]: Widened<T[K]> } {
  const flags = Object.entries(defaults).map(([name, value]) => {
    if (typeof value === 'boolean') return [name, { type: 'boolean', default: value }] as const
    return [name, { type: 'string', default: String(value) }] as const
  })
  const values: Record<string, unknown> = parseArgs({ options: Object.fromEntries(flags) }).values
  const read = Object.entries(defaults).map(([name, value]) => [
    name,
    typeof value === 'number' ? Number(values[name]) : values[name],
  ])
  return Object.fromEntries(read) as { readonly [K in keyof T]: Widened<T[K]> }
}

/** One of several words, or an error that names them. */
export function oneOf<T extends string>(flag: string, word: string, known: readonly T[]): T {
  const found = known.find((one) => one === word)
  if (found === undefined) throw new Error(`--${flag} ${word}: expected ${known.join(', ')}`)
  return found
}

type Cell = string | number

const row = (cells: readonly Cell[]): string => `| ${cells.join(' | ')} |\n`

const isNumber = (cell: Cell): boolean => typeof cell === 'number' || /^[-+\d.,%() –]*$/.test(cell)

/** A table in Markdown; columns of numbers are aligned to the right. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = head.map((_, i) => (rows.every((cells) => isNumber(cells[i] ?? '')) ? '---:' : '---'))
  return [head, lines, ...rows].map(row).join('')
}

export const print = (head: readonly string[], rows: readonly (readonly Cell[])[]): void =>
  void process.stdout.write(table(head, rows))

export const say = (text: string): void => void process.stdout.write(`${text}\n`)

export const percent = (share: number, digits = 0): string => `${(share * 100).toFixed(digits)}%`

export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

/** Calls something so many times a second, each time when it is due, whatever became of the calls before. */
export async function paced(rate: number, seconds: number, call: (i: number, due: number) => void) {
  const start = performance.now()
  for (let i = 0; i < rate * seconds; i++) {
    const due = start + (i * 1000) / rate
    if (performance.now() < due) await sleep(due - performance.now())
    call(i, due)
  }
}

/** A folder that is removed after use. */
export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-bench-'))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export async function withOpen<T>(url: string, use: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  const warehouse = await openWarehouse({ url, schema, model: known })
  try {
    return await use(warehouse)
  } finally {
    await warehouse.close()
  }
}

/** How many rows each of these tables has. */
export const rowsIn = (url: string, tables: readonly { name: string }[]): Promise<Record<string, number>> =>
  withOpen(url, async ({ db }) => {
    const rows: Record<string, number> = {}
    for (const { name } of tables) {
      const query = db.selectFrom(name as never).select(({ fn }) => fn.countAll().as('rows'))
      rows[name] = Number((await query.executeTakeFirstOrThrow()).rows)
    }
    return rows
  })

export const total = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((sum, one) => sum + one, 0)

/** A query on the inbox of a warehouse: what `shopsync listen` has received. */
export const inbox = <T>(url: string, question: Parameters<typeof Inbox.prototype.read<T>>[0]): Promise<T> =>
  withOpen(url, async (warehouse) => {
    const opened = await Inbox.open(warehouse)
    return opened.read(question).finally(() => opened.close())
  })

interface Source {
  readonly url: string
  readonly partnerId?: string
  readonly secret?: string
}

/** The program as people start it, in its own folder. */
export class Installed {
  constructor(readonly folder: string) {}

  /** `more`: other parts of the configuration. */
  configure(warehouse: string, source: Source, more: object = {}): void {
    const { url: baseUrl, partnerId = '42', secret = 'bench-secret' } = source
    const config = { api: { baseUrl, partnerId, secret }, warehouse: { url: warehouse, schema } }
    const file = join(this.folder, 'config.json')
    writeFileSync(file, JSON.stringify({ ...config, ...more }), { mode: 0o600 })
  }

  /** Rejects if the exit code is none of those that are expected. */
  async run(words: readonly string[], expected: readonly number[] = [0]): Promise<void> {
    const { code, stderr } = await new Program(program, words, { cwd: this.folder }).ended
    if (!expected.includes(code ?? -1)) throw new Error(`shopsync ${words.join(' ')}: ${code}, ${stderr}`)
  }
}
