/*
 * One HTTP request to an address that the user has named: a webhook of alerts, a heartbeat. It is no part of the API's
 * client, which can send nothing but GET, and it never sees the API's secret. Used by heartbeat.ts.
 */
import { codeOf, connectionWords } from '../api/http/failure.js'
import { backoff } from '../api/http/retry.js'
import type { Clock } from '../clock.js'

export interface Outgoing {
  readonly method: 'GET' | 'POST'
  /** A secret: whoever knows the address of a webhook may write to it. No message quotes it. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** What became of a message. */
export interface Sent {
  readonly delivered: boolean
  /** The same message may be taken later. */
  readonly worthRetrying: boolean
  /** What came back, in words that hold no secret. */
  readonly found: string
}

/** How long one attempt may take, in milliseconds. */
const attemptMs = 10_000

const waits = { attempts: 100, baseMs: 1000, maxMs: 8000 }

/** Bytes of an answer that are read; nobody asks what it says. */
const mostOfAnswer = 64 * 1024

/** Sends once. Redirects are not followed: the address is a secret of one host. Never throws. */
export async function send({ method, url, headers, body }: Outgoing, milliseconds: number): Promise<Sent> {
  const { EnvHttpProxyAgent, request } = await import('undici')
  // Plain http goes to this machine, or where the user wants it; a proxy's rules are those for https.
  const dispatcher = new EnvHttpProxyAgent({ httpProxy: '', connect: { timeout: milliseconds } })
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      late.abort()
      reject(Object.assign(new Error('late'), { code: 'SEND_DEADLINE' }))
    }, milliseconds)
  })
  try {
    const sending = request(url, {
      method,
      dispatcher,
      signal: late.signal,
      headers: { 'user-agent': 'shopsync', ...headers },
      ...(body !== undefined && { body }),
    })
    // undici notices the signal only once the connection stands.
    const { statusCode, body: answer } = await Promise.race([sending, tooLate])
    // The status has said it all: an answer that breaks off takes nothing from it.
    await Promise.race([answer.dump({ limit: mostOfAnswer }), tooLate]).catch(() => {})
    return answered(statusCode)
  } catch (error) {
    return unanswered(codeOf(error), milliseconds)
  } finally {
    clearTimeout(timer)
    tooLate.catch(() => {})
    await dispatcher.destroy().catch(() => {})
  }
}

function answered(status: number): Sent {
  const found = `it answered ${status}`
  if (status >= 200 && status < 300) return { delivered: true, worthRetrying: false, found }
  if (status < 400)
    return { delivered: false, worthRetrying: false, found: `${found}, and redirects are not followed` }
  const isPassing = status >= 500 || [408, 425, 429].includes(status)
  return { delivered: false, worthRetrying: isPassing, found: `${found}, expected 200` }
}

function unanswered(code: string, milliseconds: number): Sent {
  const isLate = code === 'SEND_DEADLINE'
  const found = isLate
    ? `no answer came within ${Math.round(milliseconds / 100) / 10} s`
    : `${connectionWords(code)} (${code})`
  return { delivered: false, worthRetrying: true, found }
}

export interface Persistence {
  readonly clock: Clock
  /** Milliseconds in all, waits included. */
  readonly budgetMs: number
  readonly random?: () => number
}

/** Sends, and again while that is worth it and time is left. Never throws. */
export async function sendPatiently(message: Outgoing, how: Persistence): Promise<Sent> {
  const { clock, budgetMs, random = Math.random } = how
  const now = (): number => Number(clock.nowMicros() / 1000n)
  const end = now() + budgetMs
  for (let attempt = 1; ; attempt++) {
    const sent = await send(message, Math.max(100, Math.min(attemptMs, end - now())))
    if (sent.delivered || !sent.worthRetrying) return sent
    const wait = 100 + backoff(waits, attempt, random)
    if (now() + wait >= end) return { ...sent, found: times(sent.found, attempt) }
    await clock.sleep(wait)
  }
}

const times = (found: string, attempts: number): string =>
  attempts === 1 ? found : `${found}, ${attempts} times`
