/* The program as people start it, in its own folder: it syncs a source and receives its events. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { resources } from '../../schema/index.js'
import { model } from '../../src/engine/model/registry.js'
import { openWarehouse } from '../../src/engine/warehouse/openwarehouse.js'
import type { Warehouse } from '../../src/engine/warehouse/warehouse.js'
import { Inbox } from '../../src/features/events/inbox.js'
import { type BenchWarehouse, empty, schema } from '../warehouse.js'

const program = fileURLToPath(new URL('../../bin/shopsync.js', import.meta.url))

export interface BenchTarget {
  readonly baseUrl: string
  readonly secret: string
  readonly partnerId: string
}

export class Installed {
  readonly folder = mkdtempSync(join(tmpdir(), 'shopsync-events-'))

  constructor(
    private readonly warehouse: BenchWarehouse,
    private readonly target: BenchTarget,
    private readonly only: readonly string[] | 'all' = 'all',
  ) {}

  async prepare(): Promise<void> {
    const { url } = this.warehouse
    await empty(url)
    if (url.startsWith('sqlite:'))
      for (const end of ['', '-wal', '-shm'])
        rmSync(`${url.slice('sqlite:'.length)}.events${end}`, { force: true })
    const config = {
      api: this.target,
      warehouse: url.startsWith('sqlite:') ? { url } : { url, schema },
      sync: { resources: this.only },
      schedule: { listen: false },
      log: { level: 'warn' },
    }
    writeFileSync(join(this.folder, 'config.json'), JSON.stringify(config), { mode: 0o600 })
    await this.run('sync', '--quiet')
  }

  /** Rejects if the exit code isn't 0. */
  async run(...words: string[]): Promise<void> {
    const child = this.#spawn(words)
    const [code] = (await once(child, 'exit')) as [number]
    if (code !== 0) throw new Error(`shopsync ${words.join(' ')} ended with ${code}`)
  }

  async listen(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
    const child = this.#spawn(['listen', '--port', '0'])
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        const found = /https?:\/\/\S+\/webhooks/.exec(chunk.toString())?.[0]
        if (found) resolve(found)
      })
      child.once('exit', (code) => reject(new Error(`shopsync listen ended with ${code}`)))
    })
    return { child, url }
  }

  /** A query on the inbox and the warehouse. */
  async ask<T>(question: (inbox: Inbox, warehouse: Warehouse) => Promise<T>): Promise<T> {
    const warehouse = await openWarehouse({ url: this.warehouse.url, schema, model: model(resources) })
    const inbox = await Inbox.open(warehouse)
    try {
      return await question(inbox, warehouse)
    } finally {
      await inbox.close()
      await warehouse.close()
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  #spawn(words: readonly string[]): ChildProcess {
    return spawn(process.execPath, [program, ...words], {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  }
}

/** Ends it as an operator would. */
export async function ended(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}

/** The value below which that share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}
