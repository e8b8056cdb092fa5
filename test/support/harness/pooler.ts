/** Sits between a client and Postgres and drops what a careless pooler drops. */
import { connect, createServer } from 'node:net'

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

const unchanged = (text: string): string => text

/** `edited`: what takes the place of a text that a client sends; it must be as long. */
export const startPooler = (server: string, edited = unchanged): Promise<Pooler> =>
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
  const { hostname, port } = new URL(server)
  const listener = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    client.once('data', (first: Buffer) => {
      upstream.write(begun(first))
      client.on(
        'data',
        (chunk: Buffer) => void upstream.write(Buffer.from(edited(chunk.toString('latin1')), 'latin1')),
      )
    })
    upstream.pipe(client)
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  const url = new URL(server)
  url.host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  return { url: url.href, close: () => new Promise((resolve) => void listener.close(() => resolve())) }
}
