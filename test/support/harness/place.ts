// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** The program in a folder with a configuration, called in this process: for the tests of the commands. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox, SandboxOptions } from '../../../src/sandbox/index.js'
import { type Ended, shopsync } from './call.js'
import type { Target } from './runs.js'
import { sandboxOfFile } from './sandbox.js'
import { scratch } from './scratch.js'

export interface Address {
  readonly url: string
  readonly schema: string
  /** From how many rows on a page goes to SQLite's writer thread. */
  readonly threadFrom?: number
  readonly pooler?: boolean
}

/** Makes a folder with a configuration for the sandbox and a warehouse; returns the configuration's path. */
export function configure(
  sandbox: Target,
  { url, schema }: Address,
  resources: readonly string[],
  sections: object = {},
): string {
  const { sync, api, ...more } = sections as Readonly<Record<string, object | undefined>>
  const { url: baseUrl, partnerId, secret } = sandbox
  const warehouse = url.startsWith('sqlite:') ? { url } : { url, schema }
  const config = {
    api: { baseUrl, partnerId, secret, ...api },
    warehouse,
    sync: { resources, ...sync },
    ...more,
  }
  const file = join(scratch(), 'config.json')
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  return file
}

/** A working directory with a configuration for a small sandbox, which is there until the file or the test that made it ends. */
export interface Place {
  readonly folder: string
  readonly sandbox: Sandbox
  run(...words: string[]): Promise<Ended>
  /** Rewrites config.json, with these settings over the usual ones. */
  configure(more?: Record<string, unknown>): void
}

export async function place(options: SandboxOptions = {}): Promise<Place> {
  const folder = scratch()
  const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 12, seed: 3, ...options })
  const configure = (more: Record<string, unknown> = {}): void => {
    const usual: Record<string, object> = {
      api: {
        baseUrl: sandbox.url,
        partnerId: sandbox.partnerId,
        secret: '${API_SECRET}',
        retry: { attempts: 2, base: 'PT0.01S', max: 'PT0.02S' },
      },
      warehouse: { url: 'sqlite:./data/warehouse.db' },
    }
    const names = new Set([...Object.keys(usual), ...Object.keys(more)])
    const isGroup = (value: unknown): value is object => typeof value === 'object' && !Array.isArray(value)
    const merged = [...names].map((name) => {
      const own = more[name] ?? {}
      return [name, isGroup(own) ? { ...usual[name], ...own } : own]
    })
    writeFileSync(join(folder, 'config.json'), JSON.stringify(Object.fromEntries(merged)))
  }
  mkdirSync(join(folder, 'data'))
  configure()
  return {
    folder,
    sandbox,
    configure,
    run: (...words) => shopsync(words, { cwd: folder, env: { API_SECRET: sandbox.secret } }),
  }
}

/** The same with the tables and views that `shopsync migrate` makes: for tests that aren't about a warehouse's first run. */
export async function viewedPlace(options: SandboxOptions = {}): Promise<Place> {
  const here = await place(options)
  const { cloneSqlite } = await import('./clones.js')
  await cloneSqlite(join(here.folder, 'data/warehouse.db'), 'viewed')
  return here
}

/** The lines of JSON that commands have added to a file since the last call. */
export function newLines<T>(file: string): T[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  rmSync(file)
  return lines.map((line) => JSON.parse(line) as T)
}
