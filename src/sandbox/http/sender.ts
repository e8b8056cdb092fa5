/** Sends events over persistent connections, and retries those that fail. Used by webhooks.ts. */
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { MicrosClock } from '../instant.js'
import type { DeliveryLog, EventDelivery } from './deliverylog.js'
import type { Pauses } from './pauses.js'

/** An event on its way to one address. The body is shared by all addresses. */
export interface Parcel
  extends Pick<EventDelivery, 'event' | 'name' | 'tenant' | 'record' | 'url' | 'changed'> {
  readonly body: Buffer
  readonly secret: string
}

interface SenderOptions {
  readonly clock: MicrosClock
  readonly log: DeliveryLog
  /** How often to retry a delivery that fails or isn't answered with 2xx. */
  readonly retry: number
  /** A certificate authority to trust in addition to the usual ones. */
  readonly ca: string | undefined
}

const TIMEOUT_MS = 5000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 60_000

/** Servers close idle connections after five seconds or later: an event must not use one that is just being closed. */
const CONNECTIONS = { keepAlive: true, maxSockets: 64, maxFreeSockets: 64, timeout: 4000 }

export class Sender {
  readonly #http = new HttpAgent(CONNECTIONS)
  readonly #https: HttpsAgent
  readonly #open = new Set<() => void>()

  constructor(private readonly options: SenderOptions) {
    this.#https = new HttpsAgent({ ...CONNECTIONS, ca: options.ca })
  }

  /** Resolves when the event is delivered, has failed for the last time, or the pauses were ended. */
  async send(parcel: Parcel, delayMs: number, pauses: Pauses): Promise<void> {
    const { retry } = this.options
    if (delayMs > 0 && !(await pauses.wait(delayMs))) return
    for (let attempt = 1; !(await this.#try(parcel, attempt)) && attempt <= retry; attempt += 1)
      if (!(await pauses.wait(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1))))) return
  }

  /** Aborts what is under way and closes the connections. */
  end(): void {
    for (const breakOff of this.#open) breakOff()
    this.#http.destroy()
    this.#https.destroy()
  }

  async #try(parcel: Parcel, attempt: number): Promise<boolean> {
    const { clock, log } = this.options
    const { event, name, tenant, record, url, changed } = parcel
    const told = { sent: null, ended: null, status: null, error: null }
    const line = log.open({ event, name, tenant, record, url, changed, attempt, ...told })
    try {
      line.status = await this.#post(parcel, line)
    } catch (error) {
      line.error = error instanceof Error ? error.message : String(error)
    }
    line.ended = clock.nowMicros()
    return line.status !== null && line.status >= 200 && line.status < 300
  }

  /** The status of the response. Redirects are responses; they aren't followed. */
  #post({ url, body, secret }: Parcel, line: EventDelivery): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = {
        'Content-Type': 'application/json',
        'Content-Length': body.length,
        'X-Api-Secret': secret,
      }
      const request = url.startsWith('https:')
        ? requestHttps(url, { method: 'POST', agent: this.#https, headers })
        : requestHttp(url, { method: 'POST', agent: this.#http, headers })
      let deadline: NodeJS.Timeout | undefined
      // A request that waits for a connection reports no error, so the promise has to be rejected here.
      const breakOff = (): void => {
        reject(new Error('the sandbox ended it'))
        request.destroy()
      }
      this.#open.add(breakOff)
      request
        .once('socket', () => {
          line.sent = this.options.clock.nowMicros()
          deadline = setTimeout(() => request.destroy(new Error('not answered in time')), TIMEOUT_MS)
        })
        .once('response', (response) => {
          resolve(response.statusCode ?? 0)
          response.on('error', () => undefined).resume()
        })
        .on('error', reject)
        .once('close', () => {
          clearTimeout(deadline)
          this.#open.delete(breakOff)
          reject(new Error('closed without an answer'))
        })
        .end(body)
    })
  }
}
