/*
 * What the source can answer to the request for one record. Only a 404 or 410 says that a record is gone, and only if
 * the source answers by id at all (byid.ts). Everything else that isn't the record says nothing about it: neither that
 * it exists nor that it doesn't.
 */
import type { Int64 } from '../../../schema/resource.js'
import { Skip } from '../base/errors.js'
import { isJsonObject, kindOf } from '../base/jsonkind.js'
import type { FlatPage } from '../model/flatten/batch.js'
import type { Fetched } from '../warehouse/store/versionbatch.js'
import { mayBeOfRecords } from './isolate.js'
import { recordKey } from './observe.js'

/** An answer that says nothing about the record. `found`: what it was, for people; never its content. */
export type UnclearAnswer =
  /** Another status, such as 403. */
  | { readonly kind: 'refused'; readonly found: string }
  /** A record with another id: ours may have been merged into it, or a cache mixed them up. */
  | { readonly kind: 'another'; readonly found: string }
  /** An accepted request without a record: null, an empty object, a list, a page for people. */
  | { readonly kind: 'nothing'; readonly found: string }
  /** The record breaks its response, as it may break its page. */
  | { readonly kind: 'unread'; readonly found: string; readonly error: Skip }

export type AnswerById<P extends FlatPage<unknown> = FlatPage> =
  | { readonly kind: 'record'; readonly fetched: Fetched<P> }
  | { readonly kind: 'gone' }
  | UnclearAnswer

/** Whether an accepted response holds another record than the requested one, or none. */
export function otherThan(record: unknown, id: Int64): UnclearAnswer | undefined {
  if (!isJsonObject(record)) return { kind: 'nothing', found: kindOf(record) }
  const key = recordKey(record)
  if (key === undefined) return { kind: 'nothing', found: 'an object without an id' }
  return key === String(id) ? undefined : { kind: 'another', found: `record ${key}` }
}

/** What a failed request says about the record. Throws what concerns more than the record. */
export function answerOfFailure(error: unknown): AnswerById<never> {
  if (!(error instanceof Skip) || error.details.code !== undefined) throw error
  const { status } = error.details
  const breaks: boolean = mayBeOfRecords(error)
  if (breaks) return { kind: 'unread', found: `${status ?? 'no answer'}`, error }
  // A body that never was JSON, or no body at all.
  if (error.reason === 'failed' && status !== undefined && status < 300)
    return { kind: 'nothing', found: status === 200 ? 'no JSON' : `${status}` }
  if (error.reason === 'refused' && status !== undefined) return { kind: 'refused', found: `${status}` }
  throw error
}
