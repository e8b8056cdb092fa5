import type { MicrosClock } from '../instant.js'

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** Carries the documented status of a refusal. The document shows no body, so this one is invented. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly fields: Readonly<Record<string, string>> = {},
  ) {
    super(message)
  }

  get response(): HttpResponse {
    const errors = Object.keys(this.fields).length === 0 ? {} : { errors: this.fields }
    return jsonResponse(this.status, JSON.stringify({ message: this.message, ...errors }))
  }
}

export const notFound = (): Refusal => new Refusal(404, 'Not found')

export const invalid = (fields: Readonly<Record<string, string>>): Refusal =>
  new Refusal(422, 'Invalid fields', fields)

export function jsonResponse(status: number, body: string): HttpResponse {
  return { status, headers: { 'Content-Type': 'application/json; charset=utf-8' }, body }
}

/** The clock's time plus a few seconds, in the format of HTTP headers. */
export function httpDate(clock: MicrosClock, inSeconds = 0): string {
  return new Date(Number(clock.nowMicros() / 1000n) + inSeconds * 1000).toUTCString()
}
