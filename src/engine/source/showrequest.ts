/* Responses as they came, for `shopsync check`, which tests how the source behaves. Used by client.ts. */
import type { IncomingHttpHeaders } from 'node:http'
import { Skip } from '../base/errors.js'
import type { ApiRequest } from './http/exchange.js'
import { rateReport, serverDate, single } from './http/headers.js'
import type { Shown } from './source.js'

/** Sends the request through `send` and returns what came, including a refusal, which is a failure everywhere else. */
export async function showAnswer(
  call: ApiRequest,
  send: (call: ApiRequest) => Promise<unknown>,
): Promise<Shown> {
  let headers: IncomingHttpHeaders = {}
  const onHeaders = (found: IncomingHttpHeaders): void => {
    headers = found
  }
  const shown = (status: number, value: unknown): Shown => {
    const date = serverDate(headers)
    return {
      status,
      value,
      etag: single(headers.etag),
      date: date === undefined ? undefined : BigInt(date) * 1000n,
      encoding: single(headers['content-encoding']),
      hasRate: rateReport(headers)?.reset !== undefined,
    }
  }
  try {
    return shown(200, await send({ ...call, onHeaders }))
  } catch (error) {
    if (!(error instanceof Skip) || error.reason === 'failed' || error.details.status === undefined)
      throw error
    return shown(error.details.status, undefined)
  }
}
