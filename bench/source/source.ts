import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Dataset } from './dataset.js'

/** What the source's process is told; it answers each with a number. */
export type Command = readonly [kind: 'change' | 'latency' | 'reset' | 'requests', value: number]

/** The source's process, as seen by the measuring one. */
export class BenchSource {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.url = `http://127.0.0.1:${port}`
  }

  /** `orders`: the repair orders of each tenant. `limit`: requests in each `window`, in seconds. */
  static async start(
    tenants: number,
    orders: number,
    dataset: Dataset = 'tidy',
    limit = 1_000_000,
    window = 3600,
  ): Promise<BenchSource> {
    const words = [tenants, orders, dataset, limit, window].map(String)
    const child = fork(new URL('./main.js', import.meta.url), words)
    const [port] = (await once(child, 'message')) as [number]
    return new BenchSource(child, port)
  }

  /** Every nth record changes; returns their warehouse rows, over all tenants. */
  change(every: number): Promise<number> {
    return this.#ask('change', every)
  }

  /** Resets the source; returns the warehouse rows of all its records, over all tenants. */
  reset(): Promise<number> {
    return this.#ask('reset')
  }

  latency(milliseconds: number): Promise<number> {
    return this.#ask('latency', milliseconds)
  }

  /** Requests since the last call. */
  requests(): Promise<number> {
    return this.#ask('requests')
  }

  [Symbol.dispose](): void {
    this.#child.kill()
  }

  async #ask(kind: Command[0], value = 0): Promise<number> {
    const answer = once(this.#child, 'message')
    this.#child.send([kind, value] satisfies Command)
    const [number] = (await answer) as [number]
    return number
  }
}
