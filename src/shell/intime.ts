import { Retry } from '../engine/base/errors.js'

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
