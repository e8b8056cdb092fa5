import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Dataset } from './dataset.js'

export type Command =
  | { readonly kind: 'change'; readonly every: number }
  | { readonly kind: 'latency'; readonly milliseconds: number }
  | { readonly kind: 'reset' }
  | { readonly kind: 'count' }

export type Answer =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'rows'; readonly rows: number }
  | { readonly kind: 'requests'; readonly requests: number }
  | { readonly kind: 'done' }

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
    const [first] = (await once(child, 'message')) as [Answer]
    if (first.kind !== 'listening') throw new Error('The source did not start')
    return new BenchSource(child, first.port)
  }

  /** Every nth record changes; returns their warehouse rows, over all tenants. */
  async change(every: number): Promise<number> {
    const answer = await this.#ask({ kind: 'change', every })
    return answer.kind === 'rows' ? answer.rows : 0
  }

  /** Resets the source; returns the warehouse rows of all its records, over all tenants. */
  async reset(): Promise<number> {
    const answer = await this.#ask({ kind: 'reset' })
    return answer.kind === 'rows' ? answer.rows : 0
  }

  async latency(milliseconds: number): Promise<void> {
    await this.#ask({ kind: 'latency', milliseconds })
  }

  /** Requests since the last call. */
  async requests(): Promise<number> {
    const answer = await this.#ask({ kind: 'count' })
    return answer.kind === 'requests' ? answer.requests : 0
  }

  [Symbol.dispose](): void {
    this.#child.kill()
  }

  async #ask(command: Command): Promise<Answer> {
    const answer = once(this.#child, 'message')
    this.#child.send(command)
    const [message] = (await answer) as [Answer]
    return message
  }
}
