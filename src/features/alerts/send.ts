/*
 * One HTTP request to an address that the user has named: a webhook of alerts, a heartbeat. It is no part of the API's
 * client, which can send nothing but GET, and it never sees the API's secret. Used by send.ts.
 */

import { type Clock, systemClock } from '../../engine/base/clock.js'
import { codeOf, connectionWords } from '../../engine/source/http/failure.js'
import { backoff } from '../../engine/source/http/retry.js'

/*
 * Dead man's switches: an address that is called after each run that came to its end. Who listens there misses the call
 * when a run was killed, when its machine is down, or when nothing starts it any more, which no alert of ours can tell.
 */

/** A run that has ended must not wait long for somebody else's server. */
const budgetMs = 15_000

/** The address with the exit code as its parameter `exit`; the query that it has stays as it is. */
export function beatAddress(url: string, exit: number): string {
  const address = new URL(url)
  address.hash = ''
  const parameter = `exit=${exit}`
  address.search = address.search === '' ? parameter : `${address.search}&${parameter}`
  return address.href
}

/** Calls a heartbeat with the exit code of the run that has ended, some seconds at most. Never throws. */
export const beat = (
  url: string,
  exit: number,
  clock: Clock = systemClock,
  signal?: AbortSignal,
  withinMs = budgetMs,
): Promise<Sent> =>
  sendPatiently({ method: 'GET', url: beatAddress(url, exit) }, { clock, budgetMs: withinMs, signal })

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
async function send(
  { method, url, headers, body }: Outgoing,
  { milliseconds, signal }: { readonly milliseconds: number; readonly signal: AbortSignal | undefined },
): Promise<Sent> {
  const { EnvHttpProxyAgent, request } = await import('undici')
  // Plain http goes to this machine, or where the user wants it; a proxy's rules are those for https.
  const dispatcher = new EnvHttpProxyAgent({ httpProxy: '', connect: { timeout: milliseconds } })
  const late = new AbortController()
  let giveUp = (_code: string): void => {}
  const tooLate = new Promise<never>((_resolve, reject) => {
    giveUp = (code) => {
      late.abort()
      reject(Object.assign(new Error(code), { code }))
    }
  })
  const interrupt = (): void => giveUp('SEND_INTERRUPTED')
  const timer = setTimeout(giveUp, milliseconds, 'SEND_DEADLINE')
  signal?.addEventListener('abort', interrupt, { once: true })
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
    signal?.removeEventListener('abort', interrupt)
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
  const own: Record<string, string> = {
    SEND_DEADLINE: `no answer came within ${Math.round(milliseconds / 100) / 10} s`,
    SEND_INTERRUPTED: 'no answer came before a signal ended the program',
  }
  return { delivered: false, worthRetrying: true, found: own[code] ?? `${connectionWords(code)} (${code})` }
}

export interface Persistence {
  readonly clock: Clock
  /** Milliseconds in all, waits included. */
  readonly budgetMs: number
  /** Fires when the program is to end: nothing is waited for any longer. */
  readonly signal?: AbortSignal | undefined
  readonly random?: () => number
}

/** Sends, and again while that is worth it and time is left. Never throws. */
export async function sendPatiently(message: Outgoing, how: Persistence): Promise<Sent> {
  const { clock, budgetMs, signal, random = Math.random } = how
  const now = (): number => Number(clock.nowMicros() / 1000n)
  const end = now() + budgetMs
  for (let attempt = 1; ; attempt++) {
    const milliseconds = Math.max(100, Math.min(attemptMs, end - now()))
    const sent = await send(message, { milliseconds, signal })
    if (sent.delivered || !sent.worthRetrying || signal?.aborted) return sent
    const wait = 100 + backoff(waits, attempt, random)
    if (now() + wait >= end) return { ...sent, found: times(sent.found, attempt) }
    await clock.sleep(wait, signal)
    if (signal?.aborted) return { ...sent, found: times(sent.found, attempt) }
  }
}

const times = (found: string, attempts: number): string =>
  attempts === 1 ? found : `${found}, ${attempts} times`
