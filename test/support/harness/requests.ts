/** Requests to a test's own sandbox, as any client would send them: for the tests of the sandbox. */
import type { Sandbox, SandboxOptions } from '../../../src/sandbox/index.js'
import { HandClock } from '../world/clocks.js'
import { sandboxOfFile } from './sandbox.js'

/** When the sandbox's tests start, if time matters to them. */
export const noon = '2026-03-02T12:00:00Z'

/** A sandbox that is closed after the test: empty, with tenant 101 and a clock that stands at noon. */
export const emptySandbox = (options: SandboxOptions = {}): Promise<Sandbox> =>
  sandboxOfFile({ data: 'none', tenants: 1, clock: new HandClock(noon), ...options })

// biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of every shape
export type Json = any

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The same, parsed if it is JSON. */
  readonly body: Json
}

export async function request(
  sandbox: Sandbox,
  path: string,
  {
    method = 'GET',
    body,
    headers = {},
  }: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const usual: Record<string, string> = {
    'X-Api-Partner-Id': sandbox.partnerId,
    'X-Api-Secret': sandbox.secret,
    Accept: 'application/json',
  }
  if (body !== undefined) usual['Content-Type'] = 'application/json'
  const response = await fetch(`${sandbox.url}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...usual, ...headers },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: parsed(text) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A request for something of tenant 101. */
export const shop = (
  sandbox: Sandbox,
  path: string,
  options?: Parameters<typeof request>[2],
): Promise<Reply> => request(sandbox, `/api/v1/tenants/101/${path}`, options)

export const ids = (reply: Reply): number[] => reply.body.results.map(({ id }: { id: number }) => id)

/** `count` notes, one second apart, note 1 the oldest. */
export function putNotes(sandbox: Sandbox, count: number): void {
  for (let id = 1; id <= count; id += 1) {
    const time = `2026-01-01T00:${String(Math.floor(id / 60)).padStart(2, '0')}:${String(id % 60).padStart(2, '0')}.000000Z`
    sandbox.store.put(101, 'notes', {
      id,
      created_at: time,
      updated_at: time,
      description: `note ${id}`,
      repair_order_id: id % 3,
    })
  }
}

export const EPOCH = 'updated_after=1970-01-01T00:00:00Z'
