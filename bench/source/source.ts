import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

export type Command =
  | { readonly kind: 'change'; readonly every: number }
  | { readonly kind: 'latency'; readonly milliseconds: number }
  | { readonly kind: 'reset' }
  | { readonly kind: 'count' }

export type Answer =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'changed'; readonly records: number }
  | { readonly kind: 'counted'; readonly requests: number }
  | { readonly kind: 'done' }

/** The source's process, seen from the one that measures. */
export class BenchSource {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.url = `http://127.0.0.1:${port}`
  }

  /** `records`: of each tenant. */
  static async start(tenants: number, records: number): Promise<BenchSource> {
    const child = fork(new URL('./main.js', import.meta.url), [String(tenants), String(records)])
    const [first] = (await once(child, 'message')) as [Answer]
    if (first.kind !== 'listening') throw new Error('The source did not start')
    return new BenchSource(child, first.port)
  }

  /** Every so-manieth record changes; returns how many did. */
  async change(every: number): Promise<number> {
    const answer = await this.#ask({ kind: 'change', every })
    return answer.kind === 'changed' ? answer.records : 0
  }

  /** As it was at the start. */
  async reset(): Promise<void> {
    await this.#ask({ kind: 'reset' })
  }

  async latency(milliseconds: number): Promise<void> {
    await this.#ask({ kind: 'latency', milliseconds })
  }

  /** Requests since it was asked last. */
  async requests(): Promise<number> {
    const answer = await this.#ask({ kind: 'count' })
    return answer.kind === 'counted' ? answer.requests : 0
  }

  stop(): void {
    this.#child.kill()
  }

  async #ask(command: Command): Promise<Answer> {
    const answer = once(this.#child, 'message')
    this.#child.send(command)
    const [message] = (await answer) as [Answer]
    return message
  }
}
