/** What sits between a client and a server: proxies of HTTP, and poolers of Postgres. */
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { closedAfterwards } from './afterwards.js'

/** Listens on a free port. `close` cuts its connections. */
export async function listens(server: Server): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  return { port: (server.address() as AddressInfo).port, close }
}

/** Passes on what a server answers; whoever ends, ends the other. */
function join(client: Socket, upstream: Socket): void {
  upstream.pipe(client)
  upstream.on('error', () => upstream.destroy())
  client.on('close', () => upstream.destroy())
  upstream.on('close', () => client.destroy())
}

/** Passes each request on to another server, like a proxy that terminates TLS. */
export const forward =
  (to: string) =>
  (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { method, url = '/', headers } = incoming
    const onward = request(new URL(url, to), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  }

export interface TestProxy {
  readonly port: number
  /** The heads of the requests it got. */
  readonly heads: string[]
  /** All bytes that clients sent through the tunnels, as Latin-1. */
  passed(): string
  close(): Promise<void>
}

/** Opens tunnels. `answer`: the status line and headers to send instead of one; null: no answer at all. */
export async function startProxy(answer?: string | null): Promise<TestProxy> {
  const heads: string[] = []
  const chunks: Buffer[] = []
  const server = createServer((client) => {
    client.once('data', (head) => {
      heads.push(head.toString('latin1'))
      if (answer === null) return
      if (answer !== undefined) return void client.end(`${answer}\r\n\r\n`)
      const [, host = '', port = ''] = /^CONNECT (.+):(\d+) /.exec(head.toString('latin1')) ?? []
      const upstream = connect(Number(port), host, () => client.write('HTTP/1.1 200 OK\r\n\r\n'))
      client.on('data', (chunk) => chunks.push(chunk))
      client.pipe(upstream)
      join(client, upstream)
    })
  })
  const { port, close } = closedAfterwards(await listens(server))
  return { port, close, heads, passed: () => Buffer.concat(chunks).toString('latin1') }
}

export interface Pooler {
  readonly url: string
  close(): Promise<void>
}

/** The start-up message without the options that the client requests. */
function withoutOptions(message: Buffer): Buffer {
  const words = message.subarray(8, -1).toString().split('\0').slice(0, -1)
  const kept: string[] = []
  for (let i = 0; i < words.length; i += 2)
    if (words[i] !== 'options') kept.push(words[i] ?? '', words[i + 1] ?? '')
  const body = Buffer.from(`${kept.join('\0')}\0\0`)
  const head = Buffer.from(message.subarray(0, 8))
  head.writeInt32BE(body.length + 8)
  return Buffer.concat([head, body])
}

/** Drops what a careless pooler drops. `edited`: what takes the place of a text that a client sends; it must be as long. */
export const startPooler = (server: string, edited = (text: string): string => text): Promise<Pooler> =>
  startRelay(server, withoutOptions, edited)

/** A way to a server that can go silent: what clients send is swallowed, and connections stay open. */
export async function startSilent(server: string): Promise<Pooler & { silence(to: boolean): void }> {
  let isSilent = false
  const relay = await startRelay(
    server,
    (first) => first,
    (text) => (isSilent ? '' : text),
  )
  const silence = (to: boolean): void => {
    isSilent = to
  }
  return { ...relay, silence }
}

/** Statements wait for a lock a tenth of a second, in place of one or three: the program tries some of them three times. */
export const startImpatient = (server: string): Promise<Pooler> =>
  startRelay(
    server,
    (first) => first,
    (text) => text.replace(/(?<=lock_timeout = ')[13]s(?=')/g, '99'),
  )

async function startRelay(
  server: string,
  begun: (first: Buffer) => Buffer,
  edited: (text: string) => string,
): Promise<Pooler> {
  const url = new URL(server)
  const { hostname, port } = url
  const listener = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    join(client, upstream)
    client.once('data', (first: Buffer) => {
      upstream.write(begun(first))
      client.on(
        'data',
        (chunk) => void upstream.write(Buffer.from(edited(chunk.toString('latin1')), 'latin1')),
      )
    })
  })
  const { port: here, close } = closedAfterwards(await listens(listener))
  url.host = `127.0.0.1:${here}`
  return { url: url.href, close }
}
