/** A proxy that opens tunnels and records what it was told and what passed through it. */
import { createServer, type Socket } from 'node:net'

export interface TestProxy {
  readonly port: number
  /** The heads of the requests it got. */
  readonly heads: string[]
  /** All bytes that clients sent through the tunnels, as Latin-1. */
  passed(): string
  close(): Promise<void>
}

/** `answer`: the status line and headers to send instead of a tunnel; null: no answer at all. */
export async function startProxy(answer?: string | null): Promise<TestProxy> {
  const heads: string[] = []
  const chunks: Buffer[] = []
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  }
  const { connect } = await import('node:net')
  const server = createServer((client) => {
    keep(client)
    client.once('data', (head) => {
      heads.push(head.toString('latin1'))
      if (answer === null) return
      if (answer !== undefined) return void client.end(`${answer}\r\n\r\n`)
      const [, host = '', port = ''] = /^CONNECT (.+):(\d+) /.exec(head.toString('latin1')) ?? []
      const upstream = connect(Number(port), host, () => client.write('HTTP/1.1 200 OK\r\n\r\n'))
      keep(upstream)
      client.on('data', (chunk) => chunks.push(chunk))
      client.pipe(upstream)
      upstream.pipe(client)
      upstream.on('close', () => client.destroy())
      client.on('close', () => upstream.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    heads,
    passed: () => Buffer.concat(chunks).toString('latin1'),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
