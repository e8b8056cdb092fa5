/** A receiver of events, like a partner's: it keeps what arrives. For the tests of the sandbox. */
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { onTestFinished } from 'vitest'
import { listens } from '../support/harness/relays.js'

export interface Received {
  readonly secret: string | undefined
  readonly text: string
  readonly event: { id: string; timestamp: string; event: string; payload: Record<string, unknown> }
}

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** The ids of the records, in the order of arrival. */
  readonly ids: () => unknown[]
}

export interface ReceiverOptions {
  /** The status of the n-th response, 1 for the first. */
  readonly status?: (n: number) => number
  /** Runs before the response. */
  readonly before?: (event: Received['event']) => Promise<void>
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer }
}

export async function receiver({ status = () => 200, before, tls }: ReceiverOptions = {}): Promise<Receiver> {
  const received: Received[] = []
  const listener: RequestListener = (incoming, response) => {
    let text = ''
    incoming.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    incoming.on('end', async () => {
      const event = JSON.parse(text)
      const secret = incoming.headers['x-api-secret'] as string | undefined
      const n = received.push({ secret, text, event })
      await before?.(event)
      response.writeHead(status(n)).end()
    })
  }
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener)
  const { port, close } = await listens(server)
  onTestFinished(close)
  return {
    // The test certificate is for localhost.
    url: tls === undefined ? `http://127.0.0.1:${port}/hook` : `https://localhost:${port}/hook`,
    received,
    ids: () => received.map(({ event }) => event.payload['id']),
  }
}

export const customer = (id: number, second = '00') => ({
  id,
  updated_at: `2026-01-01T00:00:${second}.000000Z`,
  last_name: 'Müller',
})
