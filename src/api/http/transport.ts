import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher, Pool } from 'undici'

/** Milliseconds: to connect, to wait for the headers, and between two pieces of the body. */
export interface Timeouts {
  readonly connect: number
  readonly headers: number
  readonly body: number
}

export interface TransportOptions {
  readonly origin: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: Timeouts
  readonly connections: number
  readonly maxBodyBytes: number
}

/** One HTTP response, read to its end. The body of anything but a 200 is thrown away unread. */
export interface RawReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** As it came over the wire, still compressed if it was. */
  readonly body: Buffer
  /** The body was larger than the cap, and reading stopped there. */
  readonly tooLarge: boolean
}

/** Called when the status and headers are there, before the body. */
export type OnHeaders = (status: number, headers: IncomingHttpHeaders) => void

/** What an unwanted body may cost before the connection is given up instead of drained. */
const DRAIN_BYTES = 256 * 1024

const EMPTY = Buffer.alloc(0)

/** Connections to one host, over which nothing but GET can be sent. */
export class Transport {
  #pool: Promise<Pool> | undefined

  constructor(private readonly options: TransportOptions) {}

  async get(path: string, signal: AbortSignal | undefined, onHeaders: OnHeaders): Promise<RawReply> {
    this.#pool ??= this.#open()
    const pool = await this.#pool
    signal?.throwIfAborted()
    const { headers, timeouts, maxBodyBytes } = this.options
    return new Promise<RawReply>((resolve, reject) => {
      const reading = new ResponseReader(maxBodyBytes, onHeaders, resolve, reject)
      if (signal) reading.follow(signal)
      pool.dispatch(
        { path, method: 'GET', headers, headersTimeout: timeouts.headers, bodyTimeout: timeouts.body },
        reading,
      )
    })
  }

  async close(): Promise<void> {
    await (await this.#pool)?.destroy()
  }

  async #open(): Promise<Pool> {
    // undici takes some 80 ms to load, which `--help` need not pay.
    const { Pool } = await import('undici')
    const { origin, connections, timeouts } = this.options
    return new Pool(origin, { connections, pipelining: 1, connect: { timeout: timeouts.connect } })
  }
}

/** Gathers one response; undici's own streams cost more than the pieces they carry. */
class ResponseReader implements Dispatcher.DispatchHandler {
  #unfollow: (() => void) | undefined
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: IncomingHttpHeaders = {}
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #settled = false

  constructor(
    private readonly cap: number,
    private readonly started: OnHeaders,
    private readonly resolve: (reply: RawReply) => void,
    private readonly reject: (reason: unknown) => void,
  ) {}

  follow(signal: AbortSignal): void {
    const stop = (): void => {
      this.#fail(signal.reason)
      this.#controller?.abort(new Error('aborted'))
    }
    signal.addEventListener('abort', stop, { once: true })
    this.#unfollow = () => signal.removeEventListener('abort', stop)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#settled) controller.abort(new Error('aborted'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200 || this.#settled) return
    this.#status = status
    this.#headers = headers
    this.started(status, headers)
    if (status === 200 && Number(headers['content-length']) > this.cap) this.#cut(true)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return
    this.#bytes += chunk.length
    const isWanted = this.#status === 200
    if (this.#bytes > (isWanted ? this.cap : DRAIN_BYTES)) this.#cut(isWanted)
    else if (isWanted) this.#pieces.push(chunk)
  }

  onResponseEnd(): void {
    this.#finish(Buffer.concat(this.#pieces), false)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // A refusal is a refusal even when its body, which nobody reads, breaks off.
    if (this.#status !== 0 && this.#status !== 200) this.#finish(EMPTY, false)
    else this.#fail(error)
  }

  #cut(tooLarge: boolean): void {
    this.#finish(EMPTY, tooLarge)
    this.#controller?.abort(new Error('body larger than wanted'))
  }

  #finish(body: Buffer, tooLarge: boolean): void {
    if (this.#settled) return
    this.#settled = true
    this.#unfollow?.()
    this.resolve({ status: this.#status, headers: this.#headers, body, tooLarge })
  }

  #fail(reason: unknown): void {
    if (this.#settled) return
    this.#settled = true
    this.#unfollow?.()
    this.reject(reason)
  }
}
