// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** What the commands of a transcript meet: a folder with a configuration, a source, a warehouse, variables, a clock. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { createSandbox, type Rule, type Sandbox } from '../../../../src/sandbox/index.js'
import { scratch } from '../scratch.js'
import { PlayedTime } from './playedtime.js'

export interface WorldOptions {
  readonly tenants: number
  readonly repairOrders: number
}

type Settings = { [key: string]: unknown }

export class World {
  readonly folder = scratch()
  readonly env: Record<string, string>
  stdin = ''
  #rules: Rule[] = []
  #settings: Settings = {}

  private constructor(
    readonly sandbox: Sandbox,
    readonly time: PlayedTime,
  ) {
    this.env = { API_SECRET: sandbox.secret }
    this.configure()
  }

  static async open({ tenants, repairOrders }: WorldOptions): Promise<World> {
    const time = new PlayedTime()
    const sandbox = await createSandbox({
      tenants,
      repairOrders,
      seed: 3,
      until: '2026-01-01T00:00:00Z',
      // One window for the whole transcript: no wait, and as many requests left whenever it is played.
      rate: { window: 31_536_000 },
    })
    return new World(sandbox, time)
  }

  get warehouse(): string {
    return join(this.folder, 'warehouse.db')
  }

  /** Sets what stands at this path of the configuration. */
  set(path: string, value: unknown): void {
    const keys = path.split('.')
    const last = keys.pop() ?? ''
    let place = this.#settings
    for (const key of keys) {
      place[key] ??= {}
      place = place[key] as Settings
    }
    place[last] = value
    this.#write()
  }

  /** The usual configuration. */
  configure(): void {
    this.#settings = {
      api: {
        baseUrl: this.sandbox.url,
        partnerId: this.sandbox.partnerId,
        secret: '${API_SECRET}',
        // What is printed has an order then.
        concurrency: 1,
        retry: { attempts: 1, base: 'PT0.01S', max: 'PT0.02S' },
      },
      warehouse: { url: 'sqlite:./warehouse.db' },
      sync: { resources: ['notes', 'customers', 'shops'] },
    }
    this.#write()
  }

  #write(): void {
    this.write('config.json', JSON.stringify(this.#settings, null, 2))
  }

  write(name: string, text: string): void {
    const file = join(this.folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { mode: 0o600 })
  }

  /** One more fault of the source. */
  fault(rule: Rule): void {
    this.#rules.unshift(rule)
    this.sandbox.script(this.#rules)
  }

  recover(): void {
    this.#rules = []
    this.sandbox.script([])
  }

  sql(statement: string): void {
    const db = new Database(this.warehouse)
    try {
      db.exec(statement)
    } finally {
      db.close()
    }
  }

  async close(): Promise<void> {
    this.time.end()
    await this.sandbox.close()
  }
}
