import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** The server's socket. Tests close it and open it again; the records and the log stay. */
export class Listener {
  private constructor(
    private readonly app: FastifyInstance,
    private readonly host: string,
    private readonly port: number,
  ) {}

  static async open(app: FastifyInstance, host = '127.0.0.1', port = 0): Promise<Listener> {
    await app.listen({ host, port })
    return new Listener(app, host, (app.server.address() as AddressInfo).port)
  }

  get url(): string {
    return `http://${this.host.includes(':') ? `[${this.host}]` : this.host}:${this.port}`
  }

  async down(): Promise<void> {
    const { server } = this.app
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }

  async up(): Promise<void> {
    const { server } = this.app
    if (server.listening) return
    const listening = once(server, 'listening')
    server.listen(this.port, this.host)
    await listening
  }

  /** Breaks stalled connections, because waiting for them would take forever. */
  async close(): Promise<void> {
    await this.down()
    await this.app.close()
  }
}
