import { describeError, Retry } from '../engine/base/errors.js'

/**
 * Milliseconds until a request of monitoring is answered, whatever the database does: who asks gives up after a few
 * seconds, and then learns less than from an answer that names the cause.
 */
export const answerWithin = 2500

/** The result of the work, or Retry when it is too late for it. The work goes on. */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Retry('The warehouse does not answer', { hint: 'Check its server and the network' })),
      answerWithin,
    )
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Milliseconds after which it is worth asking whether the warehouse is what a page waits for. */
const lookAfter = 4000

/** The result of work that may be slow for its own sake, or Retry when `reach`, which isn't, is too late. */
async function whileReached<T>(work: Promise<T>, reach: () => Promise<unknown>): Promise<T> {
  for (;;) {
    let timer: NodeJS.Timeout | undefined
    const look = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, lookAfter)
    })
    const done = await Promise.race([work.then((value) => ({ value })), look]).finally(() =>
      clearTimeout(timer),
    )
    if (done) return done.value
    await inTime(reach())
  }
}

/**
 * Makes what is asked for, once for everybody who asks meanwhile: a database that is away doesn't collect questions. If
 * it is silent, the answer is the last one, with the trouble.
 */
export function lastKnown<T>(
  make: () => Promise<T>,
  reach: () => Promise<unknown>,
): () => Promise<{ readonly value: T; readonly trouble?: string }> {
  let making: Promise<T> | undefined
  let waiting: Promise<T> | undefined
  let last: { readonly value: T } | undefined
  return async () => {
    making ??= make().finally(() => {
      making = undefined
    })
    waiting ??= whileReached(making, reach).finally(() => {
      waiting = undefined
    })
    try {
      last = { value: await waiting }
      return last
    } catch (error) {
      if (!last) throw error
      return { ...last, trouble: describeError(error) }
    }
  }
}
