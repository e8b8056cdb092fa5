/** Sends a response, completely or with a connection fault such as a reset. Used by server.ts. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { ConnectionFault } from '../script/rules.js'
import type { HttpResponse } from './response.js'

interface Wire {
  readonly response: ServerResponse
  readonly answer: HttpResponse
  readonly body: Buffer
  /** Aborts when the client is gone or the sandbox closes. */
  readonly gone: AbortSignal
}

type DeliveryOutcome = number | 'no answer'

/** Sends the response, with its connection fault if there is one. */
export async function deliver(
  reply: FastifyReply,
  answer: HttpResponse,
  fault: ConnectionFault | undefined,
  closing: AbortSignal,
): Promise<DeliveryOutcome> {
  const body = Buffer.isBuffer(answer.body) ? answer.body : Buffer.from(answer.body)
  if (fault === undefined) {
    reply.code(answer.status).headers(answer.headers)
    reply.send(answer.status === 304 ? undefined : body)
    return answer.status
  }
  reply.hijack()
  const client = new AbortController()
  reply.raw.once('close', () => client.abort())
  reply.raw.on('error', () => client.abort())
  const gone = AbortSignal.any([client.signal, closing])
  return disturb({ response: reply.raw, answer, body, gone }, fault)
}

async function disturb(wire: Wire, fault: ConnectionFault): Promise<DeliveryOutcome> {
  const { answer, body } = wire
  switch (fault.kind) {
    case 'drop':
      wire.response.socket?.resetAndDestroy()
      return 'no answer'
    case 'reset':
      await write(wire, body.subarray(0, fault.bytes ?? 0))
      wire.response.socket?.resetAndDestroy()
      return answer.status
    case 'stall':
      return stall(wire, fault.ms, fault.part ?? 'headers')
    case 'cut':
      await write(wire, body.subarray(0, Math.floor(body.length * (fault.fraction ?? 0.5))))
      wire.response.socket?.end()
      return answer.status
    case 'length':
      await write(wire, body, body.length + fault.by)
      if (fault.by > 0) wire.response.socket?.end()
      else wire.response.end()
      return answer.status
    case 'trickle':
      return trickle(wire, fault.bytes ?? 64, fault.ms ?? 100)
    case 'huge':
      return flood(wire, fault.bytes ?? 1_000_000_000)
  }
}

function head({ response, answer }: Wire, length: number | undefined): void {
  const declared = length === undefined ? {} : { 'Content-Length': String(length) }
  response.writeHead(answer.status, { ...answer.headers, ...declared })
  response.flushHeaders()
}

/** Resolves when the operating system has taken the headers and the part of the body. */
async function write(wire: Wire, part: Buffer, length = wire.body.length): Promise<void> {
  head(wire, length)
  await new Promise<void>((resolve) => {
    wire.gone.addEventListener('abort', () => resolve(), { once: true })
    wire.response.write(part.length === 0 ? '' : part, () => resolve())
    if (part.length === 0) setImmediate(resolve)
  })
}

async function stall(wire: Wire, ms: number | undefined, part: 'headers' | 'body'): Promise<DeliveryOutcome> {
  const half = Math.floor(wire.body.length / 2)
  if (part === 'body') await write(wire, wire.body.subarray(0, half))
  if (!(await wait(wire, ms))) {
    wire.response.socket?.destroy()
    return part === 'body' ? wire.answer.status : 'no answer'
  }
  if (part === 'headers') head(wire, wire.body.length)
  wire.response.end(part === 'body' ? wire.body.subarray(half) : wire.body)
  return wire.answer.status
}

/** false if the client leaves, or the sandbox closes, before the time is up. */
async function wait({ gone }: Wire, ms: number | undefined): Promise<boolean> {
  if (gone.aborted) return false
  try {
    if (ms === undefined) await once(gone, 'abort')
    else await sleep(ms, undefined, { signal: gone })
    return ms !== undefined
  } catch {
    return false
  }
}

async function trickle(wire: Wire, bytes: number, ms: number): Promise<DeliveryOutcome> {
  head(wire, wire.body.length)
  for (let at = 0; at < wire.body.length; at += bytes) {
    wire.response.write(wire.body.subarray(at, at + bytes))
    if (!(await wait(wire, ms))) break
  }
  wire.response.end()
  return wire.answer.status
}

/** The body is valid JSON up to its end: only a limit on the body's size keeps a client from reading all of it. */
async function flood(wire: Wire, bytes: number): Promise<DeliveryOutcome> {
  head(wire, undefined)
  wire.response.write('{"results":[],"padding":"')
  const chunk = Buffer.alloc(65_536, 'x')
  for (let sent = 0; sent < bytes && !wire.gone.aborted; sent += chunk.length) {
    if (!wire.response.write(chunk))
      await once(wire.response, 'drain', { signal: wire.gone }).catch(() => undefined)
  }
  wire.response.end('"}')
  return wire.answer.status
}
