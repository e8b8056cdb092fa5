import { isAscii, isUtf8 } from 'node:buffer'
import { gunzipSync } from 'node:zlib'
import { Retry } from '../errors.js'
import { type Parsed, parseJson } from './json.js'
import type { Reply } from './wire.js'

/** Larger than the cap: another attempt would not shrink it. */
export const TOO_LARGE = Symbol('too large')

/** The body's JSON. Throws Retry when it is none; the message says what was found, never what it said. */
export function readBody(reply: Reply, maxBytes: number): Parsed | typeof TOO_LARGE {
  if (reply.tooLarge) return TOO_LARGE
  const bytes = decoded(reply, maxBytes)
  if (bytes === TOO_LARGE) return TOO_LARGE
  const text = isAscii(bytes) ? bytes.toString('latin1') : utf8(bytes)
  try {
    return parseJson(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, bytes)
  } catch {
    const type = reply.headers['content-type']?.replace(/[^\w/.+-].*$/s, '').slice(0, 60) || 'no type'
    const like = /^\s*</.test(text) ? 'looks like HTML' : text === '' ? 'is empty' : 'is no valid JSON'
    throw new Retry(`the body (${bytes.length} bytes of ${type}) ${like}, expected JSON`)
  }
}

function decoded(reply: Reply, maxBytes: number): Buffer | typeof TOO_LARGE {
  const encoding = reply.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity' || encoding === '') return reply.body
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new Retry('the body has a content-encoding that was not asked for, expected gzip or none')
  try {
    return gunzipSync(reply.body, { maxOutputLength: maxBytes })
  } catch (error) {
    if (error instanceof RangeError) return TOO_LARGE
    throw new Retry(`the body (${reply.body.length} bytes) does not unpack as gzip`)
  }
}

function utf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Retry(`the body (${bytes.length} bytes) is no valid UTF-8`)
  return bytes.toString('utf8')
}
