import { type IncomingMessage, request, type ServerResponse } from 'node:http'

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
