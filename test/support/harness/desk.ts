/** The program, called by somebody who has a source, a warehouse and a configuration: what they type, and what is stored then. */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type Ended, shopsync } from './call.js'
import { type Address, configure } from './place.js'
import type { Target } from './runs.js'
import { lookAt, rowsOf, type Warehouse } from './warehouse.js'

type Row = Record<string, unknown>

export class Desk {
  /** The configuration's file. */
  readonly config: string
  readonly #usual: Row

  constructor(
    readonly sandbox: Target,
    readonly address: Address,
    resources: readonly string[] | 'all',
    more: Readonly<Record<string, object | undefined>> = {},
  ) {
    this.config = configure(sandbox, address, [], { ...more, sync: { resources, ...more.sync } })
    this.#usual = JSON.parse(readFileSync(this.config, 'utf8')) as Row
  }

  /** These sections in place of the usual ones, from now on. */
  set(more: object = {}): void {
    writeFileSync(this.config, JSON.stringify({ ...this.#usual, ...more }))
  }

  /** The same configuration for another warehouse, from now on. */
  on({ url, schema }: Address): void {
    this.set({ warehouse: url.startsWith('sqlite:') ? { url } : { url, schema } })
  }

  /** `more`: words that contain spaces. */
  run(words: string, ...more: readonly string[]): Promise<Ended> {
    return shopsync([...words.split(' '), ...more, '--config', this.config])
  }

  /** Of a command that has to succeed. */
  async done(words: string, ...more: readonly string[]): Promise<Ended> {
    const ended = await this.run(words, ...more)
    expect(ended.code, `${words}: ${ended.stderr}${ended.stdout}`).toBe(0)
    return ended
  }

  /** As another process would look at its warehouse. */
  look<T>(work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
    return lookAt(this.address, work)
  }

  rows(table: string): Promise<Row[]> {
    return this.look((warehouse) => rowsOf(warehouse, table))
  }
}
