import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** The server's socket, which can be taken away and put back while everything behind it stays. */
export class Listener {
  readonly #app: FastifyInstance
  readonly #host: string
  readonly #port: number

  private constructor(app: FastifyInstance, host: string, port: number) {
    this.#app = app
    this.#host = host
    this.#port = port
  }

  static async open(app: FastifyInstance, host = '127.0.0.1', port = 0): Promise<Listener> {
    await app.listen({ host, port })
    return new Listener(app, host, (app.server.address() as AddressInfo).port)
  }

  get url(): string {
    return `http://${this.#host.includes(':') ? `[${this.#host}]` : this.#host}:${this.#port}`
  }

  async down(): Promise<void> {
    const { server } = this.#app
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }

  async up(): Promise<void> {
    const { server } = this.#app
    if (server.listening) return
    const listening = once(server, 'listening')
    server.listen(this.#port, this.#host)
    await listening
  }

  /** Stalled connections are broken, not waited for. */
  async close(): Promise<void> {
    await this.down()
    await this.#app.close()
  }
}
