import type { IncomingHttpHeaders } from 'node:http'

/** The rate limit as reported by one response (docs/dev/api.md, Rate limit). */
export interface RateReport {
  /** The name of the rule that counted the request: an IP address or a partner id. */
  readonly key: string
  readonly limit: number
  readonly remaining: number
  /** The end of the window by the server's clock, in ms since the epoch. */
  readonly reset: number | undefined
}

export function rateReport(headers: IncomingHttpHeaders): RateReport | undefined {
  const limit = whole(headers['x-ratelimit-limit'])
  const remaining = whole(headers['x-ratelimit-remaining'])
  if (limit === undefined || remaining === undefined) return undefined
  const reset = whole(headers['x-ratelimit-reset'])
  const key = single(headers['x-ratelimit-matchkey']) ?? ''
  return { key, limit, remaining: Math.min(remaining, limit), reset: reset && reset * 1000 }
}

/** The server's clock when it answered, in ms since the epoch, truncated to whole seconds. */
export function serverDate(headers: IncomingHttpHeaders): number | undefined {
  return httpDate(headers.date)
}

/** Milliseconds to wait, counted from when the response arrived. */
export function retryAfter(headers: IncomingHttpHeaders, localNow: number): number | undefined {
  const text = single(headers['retry-after'])?.trim()
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const until = httpDate(text)
  return until === undefined ? undefined : Math.max(0, until - (serverDate(headers) ?? localNow))
}

export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

function whole(value: string | string[] | undefined): number | undefined {
  const text = single(value)?.trim()
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/\d{2}:\d{2}:\d{2}/.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}
