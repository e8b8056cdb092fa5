import type { Reason } from '../reasons.js'
import type { Book } from './books.js'
import type { Reading } from './reading.js'
import type { WalkOutcome } from './types.js'

export const outcomeOf = (
  book: Book,
  verdict: WalkOutcome['verdict'],
  reason: Reason | null,
): WalkOutcome => ({ verdict, ceiling: book.ceiling, books: book.balance(), reason })

/** The verdict on a reading whose last page showed nothing new (docs/architecture.md, What proven claims). */
export function judgeReading<P>({ own, joint, number, walk, hasSteppedBack }: Reading<P>): WalkOutcome {
  const standing = own.standing()
  const joined = joint === own ? standing : joint.standing()
  if (standing === 'closed' && number === 1 && !hasSteppedBack) return outcomeOf(own, 'proven', null)
  if (standing === 'closed') return outcomeOf(own, 'repaired', 'read_again')
  if (standing === 'complete') return outcomeOf(own, 'repaired', 'read_again')
  if (joined === 'closed') return outcomeOf(joint, 'repaired', 'ties')
  if (standing === 'even' || joined === 'even') {
    const book = standing === 'even' ? own : joint
    // One even reading may be a coincidence of three events. That two readings meet with one is not believed.
    if (walk.wasEven) return outcomeOf(book, 'repaired', 'ties')
    walk.wasEven = true
    return outcomeOf(book, 'unproven', 'ties')
  }
  const mayHide = own.ties.found
  return outcomeOf(own, 'unproven', mayHide ? 'ties' : 'totals_disagree')
}
