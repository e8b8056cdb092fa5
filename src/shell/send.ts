/*
 * One HTTP request to an address that the user configured: a webhook or a heartbeat. It is separate from the API
 * client, which can only send GET, and it never sees the API's secret.
 */

import { type Clock, systemClock } from '../engine/base/clock.js'
import { outsideCode } from '../engine/base/errors.js'
import { connectionWords } from '../engine/base/networkwords.js'
import { backoff } from '../engine/source/http/retry.js'
import { loadUndici } from '../engine/source/http/undici.js'

/*
 * Dead man's switches: an address called after each run that finishes. Its service notices when the call doesn't come
 * because a run was killed, its machine is down, or nothing starts it any more. None of our alerts can report that.
 */

/** A finished run must not wait long for someone else's server. */
const budgetMs = 15_000

/** The address with the exit code as the parameter `exit`; its existing query stays as it is. */
function beatAddress(url: string, exit: number): string {
  const address = new URL(url)
  address.hash = ''
  const parameter = `exit=${exit}`
  address.search = address.search === '' ? parameter : `${address.search}&${parameter}`
  return address.href
}

/** Calls a heartbeat with the exit code of the finished run, for a few seconds at most. */
export const beat = (
  url: string,
  exit: number,
  clock: Clock = systemClock,
  signal?: AbortSignal,
  withinMs = budgetMs,
): Promise<Sent> =>
  sendPatiently({ method: 'GET', url: beatAddress(url, exit) }, { clock, budgetMs: withinMs, signal })

interface Outgoing {
  readonly method: 'GET' | 'POST'
  /** A secret: anyone who knows a webhook's address can post to it. No message quotes it. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** The outcome of sending a message. */
export interface Sent {
  readonly delivered: boolean
  /** The same message may be accepted later. */
  readonly worthRetrying: boolean
  /** What came back, without any secret. */
  readonly found: string
}

/** The time limit of one attempt, in milliseconds. */
const attemptMs = 10_000

const waits = { attempts: 100, baseMs: 1000, maxMs: 8000 }

/** How many bytes of the answer are read; its content doesn't matter. */
const mostOfAnswer = 64 * 1024

/** Sends once. Doesn't follow redirects: the address is a secret shared with one host. Throws nothing but errors of ours. */
async function send(
  { method, url, headers, body }: Outgoing,
  { milliseconds, signal }: { readonly milliseconds: number; readonly signal: AbortSignal | undefined },
): Promise<Sent> {
  const { EnvHttpProxyAgent, request } = await loadUndici()
  // Plain http is only used for this machine, or where the user allows it. Proxies follow the settings for https.
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
      body: body ?? null,
    })
    // undici reacts to the signal only once the connection is open.
    const { statusCode, body: answer } = await Promise.race([sending, tooLate])
    // The status is enough: it doesn't matter if the body breaks off.
    await Promise.race([answer.dump({ limit: mostOfAnswer }), tooLate]).catch(() => {})
    return answered(statusCode)
  } catch (error) {
    const code = outsideCode(error)
    if (code === undefined) throw error
    return unanswered(code, milliseconds, error)
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

function unanswered(code: string, milliseconds: number, error: unknown): Sent {
  const own: Record<string, string> = {
    SEND_DEADLINE: `no answer came within ${Math.round(milliseconds / 100) / 10} s`,
    SEND_INTERRUPTED: 'no answer came before a signal ended the program',
  }
  return { delivered: false, worthRetrying: true, found: own[code] ?? connectionWords(code, error) }
}

export interface Persistence {
  readonly clock: Clock
  /** Milliseconds in total, including waits. */
  readonly budgetMs: number
  /** Fires when the program is shutting down: waiting stops. */
  readonly signal?: AbortSignal | undefined
  readonly random?: () => number
}

/** Sends, and retries while that is useful and time is left. */
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
